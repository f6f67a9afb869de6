#pragma once

#include "script/graph/Dag.h"

namespace headrace::script {

/// About how long a node takes without compiling.
double hostNanoseconds(const Dag &dag, const Node &node, std::span<const int64_t> symbols);

} // namespace headrace::script
