#pragma once

#include "driver/ProgramGraph.h"

#include <utility>
#include <vector>

namespace headrace::cli {

/// A program after a phase as JSON; docs/command-line.md has its keys.
void printJson(const ProgramGraph &graph);
/// Several, each under its name; one without a name alone.
void printJson(const std::vector<std::pair<std::string, ProgramGraph>> &graphs);

} // namespace headrace::cli
