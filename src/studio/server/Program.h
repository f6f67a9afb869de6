// The program that a session shows: every answer is what a command printed, kept for the next time.
#pragma once

#include "studio/layout/ProgramLayout.h"
#include "studio/server/Command.h"
#include <filesystem>
#include <future>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace headrace::studio {

struct ProgramOptions {
  std::string model;
  /// For every command: `--size batch=4`, `--target cuda`, ...
  std::vector<std::string> common;
};

/// What a recipe makes of the program in numbers; nothing if they depend on dynamic dimensions.
struct ProgramSummary {
  int kernels = 0;
  std::optional<int64_t> bytes, operations;
  double microseconds = 0;
};

class Program {
public:
  Program(Command &command, ProgramOptions options);
  ~Program();
  Program(const Program &) = delete;

  using Json = nlohmann::ordered_json;

  /// What `headrace explain` prints, with these options and this recipe. Throws Error with its
  /// message if it fails.
  std::string explained(const std::string &recipe, const std::vector<std::string> &options);
  /// The graph after a phase, laid out; nodes are near their places in the first phase.
  Json view(const std::string &recipe, const std::string &phase, bool withCode = false);
  /// Counts of the scheduled program.
  ProgramSummary summary(const std::string &recipe);
  /// Calls of these recipes, timed in turns: for each, the results of `headrace bench`.
  std::vector<Json> measured(const std::vector<std::string> &recipes, double secondsEach);
  Json machine();
  /// Phases of the compiler; of a package, only the one whose result it holds.
  Json phases();
  /// The model with its gradient by all weights, as `headrace explain --grad` prints it: with at
  /// most `budget` bytes kept between forward and backward, or as many as the compiler chooses.
  Json gradient(std::optional<int64_t> budget);

  /// A package holds compiled code: it has kernels, and no phases, steps or IR.
  bool isPackage() const;

  const ProgramOptions &settings() const { return options; }
  /// The command that prints an answer, for a person.
  std::string shell(const std::vector<std::string> &words) const;

private:
  struct First {
    Groups groups;
    Places places;
  };
  std::string run(std::vector<std::string> words, const std::string &recipe);
  const First &first();
  /// The program after a phase, as printed.
  Json document(const std::string &recipe, const std::string &phase, bool withCode);

  Command &command;
  ProgramOptions options;
  std::filesystem::path folder; ///< for recipes that commands read
  std::mutex mutex;
  using Text = std::shared_future<std::shared_ptr<const std::string>>;
  std::list<std::pair<std::string, Text>> known; ///< by command and recipe, the latest first
  std::once_flag hasFirst;
  std::unique_ptr<First> firstPhase;
  int recipes = 0;
};

} // namespace headrace::studio
