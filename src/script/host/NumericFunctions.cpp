// Functions whose results depend on many cells in ways of their own.
#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

namespace {

/// cumsum and its like, down every column
template <CellFunction F> Value cumulate(HostCall &call) {
  Tensor x = writable(call.arguments[0], call.name());
  int64_t cols = x.shape()[1];
  double *cells = x.as<double>();
  for (int64_t i = cols; i < x.elements(); ++i)
    cells[i] = applyCell<F>(cells[i - cols], cells[i]);
  return x;
}

/// replace(target, pattern, replacement)
Value replace(HostCall &call) {
  double pattern = call.number(1, 0), replacement = call.number(2, 0);
  Tensor x = writable(call.arguments[0], call.name());
  double *cells = x.as<double>();
  for (int64_t i = 0; i < x.elements(); ++i)
    if (cells[i] == pattern || (std::isnan(pattern) && std::isnan(cells[i])))
      cells[i] = replacement;
  return inPreferredFormat(x);
}

/// rowIndexMax and rowIndexMin: where the last extreme of each row stands, from 1. NaN is none
/// beside numbers.
Value rowIndex(HostCall &call) {
  bool most = call.node.name == "rowIndexMax";
  Tensor x = call.dense(0);
  int64_t cols = x.shape()[1];
  Tensor result = newMatrix(x.shape()[0], 1);
  for (int64_t i = 0; i < x.shape()[0]; ++i) {
    const double *row = x.as<double>() + i * cols;
    int64_t best = 0;
    for (int64_t j = 1; j < cols; ++j)
      if (std::isnan(row[best]) ? !std::isnan(row[j])
                                : (most ? row[j] >= row[best] : row[j] <= row[best]))
        best = j;
    result.as<double>()[i] = static_cast<double>(best + 1);
  }
  return result;
}

Value contains(HostCall &call) {
  Tensor x = call.dense(0);
  double pattern = call.number(1, 0);
  const double *cells = x.as<double>();
  return std::any_of(cells, cells + x.elements(), [&](double cell) {
    return cell == pattern || (std::isnan(cell) && std::isnan(pattern));
  });
}

} // namespace

const HostTable &numericFunctions() {
  static const HostTable table = {{"cumsum", cumulate<CellFunction::Add>},
                                  {"cumprod", cumulate<CellFunction::Multiply>},
                                  {"cummin", cumulate<CellFunction::Min>},
                                  {"cummax", cumulate<CellFunction::Max>},
                                  {"replace", replace},
                                  {"rowIndexMax", rowIndex},
                                  {"rowIndexMin", rowIndex},
                                  {"contains", contains}};
  return table;
}

} // namespace headrace::script
