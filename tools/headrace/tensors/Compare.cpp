#include "tensors/Compare.h"

#include "tensors/Element.h"
#include <algorithm>
#include <cmath>

namespace headrace::cli {

namespace {

Shape indexOf(int64_t position, const Shape &shape) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0; position /= shape[d])
    index[d] = position % shape[d];
  return index;
}

} // namespace

Comparison compare(const Tensor &found, const Tensor &expected, Tolerance tolerance) {
  Comparison result;
  result.elements = found.elements();
  for (int64_t i = 0; i < result.elements; ++i) {
    long double a = elementAt(found, i), b = elementAt(expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    bool finite = std::isfinite(a) && std::isfinite(b);
    long double error = finite ? std::abs(a - b) : INFINITY;
    long double relative = b == 0 || !finite ? INFINITY : error / std::abs(b);
    result.maxAbsoluteError = std::max(result.maxAbsoluteError, static_cast<double>(error));
    result.maxRelativeError = std::max(result.maxRelativeError, static_cast<double>(relative));
    if (finite && error <= tolerance.absolute + tolerance.relative * std::abs(b))
      continue;
    if (result.mismatches++ == 0) {
      result.firstIndex = indexOf(i, found.shape());
      result.firstExpected = static_cast<double>(b);
      result.firstFound = static_cast<double>(a);
    }
  }
  return result;
}

} // namespace headrace::cli
