#pragma once

#include "script/graph/Dag.h"
#include <span>

namespace headrace::script {

/// Marks the values that are kept sparse (CSR).
void markSparse(Dag &dag, std::span<const int64_t> symbols);

/// Marks formats, and rewrites functions of the cells of a sparse matrix into functions of what it
/// stores, which can be compiled as any other; a dense product that is multiplied by a sparse
/// matrix is computed at its stored cells only.
///
///   sum(X * log(U %*% t(V) + e))  ->  sum(values(X) * log(sampled(X, U, V) + e))
void exploitSparsity(Dag &dag, std::span<std::pair<std::string, int>> results,
                     std::span<const int64_t> symbols);

} // namespace headrace::script
