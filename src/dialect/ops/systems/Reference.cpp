// Reference evaluation of linear systems: elimination with the largest pivot of each column.
#include "dialect/reference/Reference.h"

#include "dialect/ops/systems/Systems.h"

#include <complex>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

namespace {

using Number = std::complex<double>;

/// Rows of an augmented matrix: n coefficients and the right-hand sides.
class System {
public:
  System(int64_t unknowns, int64_t columns)
      : unknowns(unknowns), width(unknowns + columns), cells(unknowns * width) {}

  Number &at(int64_t row, int64_t column) { return cells[row * width + column]; }

  /// Whether the matrix is regular; the right-hand sides are the solution then.
  bool solve() {
    for (int64_t i = 0; i < unknowns; ++i) {
      int64_t pivot = i;
      for (int64_t row = i + 1; row < unknowns; ++row)
        if (std::abs(at(row, i)) > std::abs(at(pivot, i)))
          pivot = row;
      if (at(pivot, i) == Number(0))
        return false;
      std::swap_ranges(&at(i, 0), &at(i, 0) + width, &at(pivot, 0));
      for (int64_t row = 0; row < unknowns; ++row)
        if (row != i)
          subtract(row, i, at(row, i) / at(i, i));
    }
    for (int64_t i = 0; i < unknowns; ++i)
      for (int64_t column = unknowns; column < width; ++column)
        at(i, column) /= at(i, i);
    return true;
  }

private:
  void subtract(int64_t row, int64_t other, Number factor) {
    for (int64_t column = other; column < width; ++column)
      at(row, column) -= factor * at(other, column);
  }

  int64_t unknowns, width;
  std::vector<Number> cells;
};

} // namespace

Tensor SolveOp::evaluate(Tensors inputs, reference::Sizes) {
  const Shape &shape = inputs[1].shape();
  int64_t parts = getComplex() ? 2 : 1;
  size_t row = shape.size() - 2 - (getComplex() ? 1 : 0);
  int64_t unknowns = shape[row], columns = shape[row + 1];
  Tensor result = Tensor::allocate(DType::F64, shape);
  auto number = [&](const double *cells, int64_t i) {
    return getComplex() ? Number(cells[2 * i], cells[2 * i + 1]) : Number(cells[i]);
  };
  for (int64_t batch = 0; batch < product(reference::Sizes(shape).take_front(row)); ++batch) {
    const double *matrix = inputs[0].as<double>() + batch * unknowns * unknowns * parts;
    int64_t first = batch * unknowns * columns * parts;
    System system(unknowns, columns);
    for (int64_t i = 0; i < unknowns; ++i) {
      for (int64_t j = 0; j < unknowns; ++j)
        system.at(i, j) = getPositiveDefinite() && j > i
                              ? std::conj(number(matrix, j * unknowns + i))
                              : number(matrix, i * unknowns + j);
      for (int64_t j = 0; j < columns; ++j)
        system.at(i, unknowns + j) = number(inputs[1].as<double>() + first, i * columns + j);
    }
    if (!system.solve())
      throw Error(ErrorKind::InvalidArgument, operatorName(*this) +
                                                  ": expected regular matrices, number " +
                                                  std::to_string(batch) + " is singular");
    double *to = result.as<double>() + first;
    for (int64_t i = 0; i < unknowns; ++i)
      for (int64_t j = 0; j < columns; ++j, to += parts) {
        Number x = system.at(i, unknowns + j);
        to[0] = x.real();
        if (getComplex())
          to[1] = x.imag();
      }
  }
  return result;
}

} // namespace headrace::hr
