#pragma once

#include "driver/ProgramGraph.h"

#include <utility>
#include <vector>

namespace headrace::cli {

/// A program after a phase as JSON; docs/command-line.md has its keys.
void printJson(const ProgramGraph &graph);
/// Graphs of several phases in the format of Model Explorer.
void printModelExplorer(const std::string &model, const std::vector<ProgramGraph> &graphs);
/// Several, each under its name; one without a name alone.
void printJson(const std::vector<std::pair<std::string, ProgramGraph>> &graphs);

} // namespace headrace::cli
