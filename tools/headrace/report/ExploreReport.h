// Results of an exploration, as tables and as JSON.
#pragma once

#include "explore/Exploration.h"

namespace headrace::cli {

/// Implementations that compete.
struct Exploration {
  std::string name;
  std::vector<explore::Outcome> outcomes;
  std::vector<std::string> remarks; ///< lines below the table
};

void printExploration(const std::vector<Exploration> &explorations);
std::string exploreJson(const std::vector<Exploration> &explorations,
                        const std::string &convention);

} // namespace headrace::cli
