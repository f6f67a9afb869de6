#pragma once

#include "driver/ProgramGraph.h"

namespace headrace::cli {

/// A program after a phase as JSON; docs/command-line.md has its keys.
void printJson(const ProgramGraph &graph);

} // namespace headrace::cli
