// A session: a program and the history of recipes tried on it. Any number of pages may look at it;
// their steps are taken one after the other.
#pragma once

#include "studio/server/PageServer.h"
#include "studio/server/Program.h"

namespace headrace::studio {

/// A recipe in the history, and the step that led to it.
struct HistoryEntry {
  std::string step, recipe;
};

class Session {
public:
  Session(Program &program, const std::string &recipe);

  /// Answers a request of the page; never throws.
  PageAnswer answer(const PageRequest &request);
  /// State, phases, graphs, report and machine of the program as it stands, for a page without a
  /// server.
  nlohmann::ordered_json exported();

private:
  using Json = nlohmann::ordered_json;

  Json get(const std::string &path, const std::string &query);
  Json post(const std::string &path, const Json &body);
  Json state();
  Json graph(const std::string &recipe, const std::string &phase);
  /// Tries a recipe; if the compiler takes it, adds it to the history.
  Json apply(const Json &body);
  Json preview(const Json &body);
  Json measure(const Json &body);
  Json moveTo(int64_t entry);
  std::string recipeOf(const std::string &query);

  Program &program;
  std::mutex mutex; ///< for the history
  std::mutex turn;  ///< one step after the other
  std::vector<HistoryEntry> history;
  size_t current = 0;
  int64_t revision = 1;
  std::once_flag hasPhases;
  Json phases;
};

} // namespace headrace::studio
