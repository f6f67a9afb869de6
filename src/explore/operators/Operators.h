// Single operators as tasks. A contraction C = A B of m x k and k x n elements is cut along one of
// its three axes; whichever it is, its tasks have m*n*k cycles of work in all.
#pragma once

#include "explore/operators/GraphWriter.h"
#include "explore/operators/OperatorGraph.h"

namespace headrace::explore {

enum class Form {
  MatrixVector,     ///< "mv": a task for each of n columns, A b_j
  OuterProduct,     ///< "op": a task for each of k rank-1 products, which are accumulated
  LeftMatrixVector, ///< "lmv": a task for each of m rows, a_i B
  Direct,           ///< "direct", of convolutions: a task for each filter and tap, no patches
  Lu,               ///< "lu", of linear systems
  Cholesky          ///< "cholesky", of those whose matrices are positive definite
};

std::string_view nameOf(Form form);

/// How volumes are counted.
enum class Convention {
  Tight, ///< an edge carries the elements that are made or read
  Slide  ///< every partial result counts as its whole destination, patches as what is read for
         ///< them, and results are stored once more unless they come by columns
};

std::string_view nameOf(Convention convention);

struct TaskOptions {
  Convention convention = Convention::Tight;
  /// Tasks that one operator is cut into, in addition to those that move its elements: if its axis
  /// is longer, a task takes an equal share of it.
  int64_t maxTasks = 4096;
};

/// `operands` are B, or A and B; one that is not there is weights, which every task has. Points of
/// maps that follow are computed where the result is copied.
Stream writeContraction(GraphWriter &writer, const std::vector<Stream> &operands,
                        const ContractionSizes &sizes, Form form, const TaskOptions &options,
                        int64_t fusedPoints = 0);
/// The contraction of filters and patches; or directly.
Stream writeConvolution(GraphWriter &writer, const std::vector<Stream> &operands,
                        const ContractionSizes &sizes, Form form, const TaskOptions &options,
                        int64_t fusedPoints = 0);
/// Factorizations, and two triangular systems for each; `operands` are matrices and right-hand
/// sides.
Stream writeSystems(GraphWriter &writer, const std::vector<Stream> &operands,
                    const SystemSizes &sizes, Form form, const TaskOptions &options,
                    int64_t fusedPoints = 0);

/// Real multiplications and additions, divisions and roots of all systems.
int64_t systemPoints(const SystemSizes &sizes, Form form);

} // namespace headrace::explore
