// Products of a sparse matrix to which a scalar, a row or a column is added in all its cells.
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

static bool isFinite(const Matrix &matrix) {
  auto finite = [](double x) { return std::isfinite(x); };
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return std::ranges::all_of(sparse->values(), finite);
  const Tensor &dense = std::get<Tensor>(matrix);
  return std::all_of(dense.as<double>(), dense.as<double>() + dense.elements(), finite);
}

/// (X, v, B): (X - v) %*% B as X %*% B - a %*% (t(b) %*% B), where a %*% t(b) is v repeated over X;
/// likewise with +, with a transposed X - v, and on the right of B. If v or B has a NaN or an
/// infinity, 0 times it counts, and all cells are computed.
static Value shiftedProduct(HostCall &call) {
  const Node &node = call.node;
  bool right = node.columns;
  bool turned = right ? node.transposeRight : node.transposeLeft;
  const Matrix &x = call.matrix(0), &other = call.matrix(2);
  Matrix v = call.arguments[1].matrix() ? *call.arguments[1].matrix()
                                        : Matrix(filled(call.number(1, 0), 1, 1));
  if (!isFinite(v) || !isFinite(other)) {
    Node cells{Op::Cell, {0, 1}};
    cells.cell = node.cell;
    cells.known = node.known;
    Matrix all =
        evaluate(cells, {}, {call.arguments[0], call.arguments[1]}, call.context).expectMatrix("-");
    return right ? product(other, node.transposeLeft, all, node.transposeRight)
                 : product(all, node.transposeLeft, other, node.transposeRight);
  }
  int64_t rows = rowsOf(x), cols = colsOf(x);
  bool isColumn = rowsOf(v) != 1, isRow = colsOf(v) != 1;
  double sign = node.cell == CellFunction::Subtract ? -1 : 1;
  Tensor a = isColumn ? denseOf(v) : filled(isRow ? 1 : *denseOf(v).as<double>(), rows, 1);
  Tensor b = isRow ? denseOf(v) : filled(1, 1, cols);
  a = a.reshaped({rows, 1});
  b = b.reshaped({1, cols});
  if (turned)
    std::tie(a, b) = std::pair(b.reshaped({cols, 1}), a.reshaped({1, rows}));
  Matrix main = right ? product(other, node.transposeLeft, x, turned)
                      : product(x, turned, other, node.transposeRight);
  Tensor result = newMatrix(rowsOf(main), colsOf(main));
  Tensor dense = denseOf(main);
  // One factor of what is added in all cells per row of the result, the other one per column.
  Tensor down = right ? denseOf(product(other, node.transposeLeft, a, false)) : a;
  Tensor across = right ? b : denseOf(product(b, false, other, node.transposeRight));
  int64_t width = colsOf(main);
  for (int64_t i = 0; i < rowsOf(main); ++i)
    for (int64_t j = 0; j < width; ++j)
      result.as<double>()[i * width + j] =
          dense.as<double>()[i * width + j] + sign * down.as<double>()[i] * across.as<double>()[j];
  return result;
}

const HostTable &shiftedProducts() {
  static const HostTable table = {{"shiftedProduct", shiftedProduct}};
  return table;
}

} // namespace headrace::script
