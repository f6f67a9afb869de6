#pragma once

#include "script/graph/Dag.h"
#include "script/language/Program.h"

namespace headrace::script {

/// The graphs of all blocks as far as sizes are known before the run: they go through blocks and
/// calls, meet after branches, and go around loops until nothing changes any more.
std::string graphsWithKnownSizes(const Program &program, std::map<std::string, Known> variables);

} // namespace headrace::script
