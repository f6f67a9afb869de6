// Results of an exploration as tables.
#pragma once

#include "explore/search/ProgramExploration.h"

namespace headrace::cli {

void printExploration(const std::vector<explore::Exploration> &explorations);

} // namespace headrace::cli
