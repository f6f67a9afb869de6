#pragma once

#include "script/graph/Dag.h"

namespace headrace::script {

/// About how long a node takes without compiling.
double hostNanoseconds(const Dag &dag, const Node &node, std::span<const int64_t> symbols);

/// About how long a node takes at best, as a part of a kernel that reads its operands anyway: for
/// functions of cells their arithmetic alone, and nothing for simple ones. Sparse operands count as
/// what they store.
double recomputationNanoseconds(const Dag &dag, const Node &node, std::span<const int64_t> symbols);

/// The memory of a matrix.
double bytesOf(const Known &known, std::span<const int64_t> symbols);

/// The time of reading memory once.
double readNanoseconds(double bytes);

} // namespace headrace::script
