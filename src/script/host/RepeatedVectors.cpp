// Functions of a sparse matrix and a row or column that is repeated over it.
#include "runtime/sparse/RowBuilder.h"

#include "script/host/HostCells.h"
#include <numeric>

namespace headrace::script {

/// The vector decides in which of the matrix's rows or columns the cells that are not stored become
/// something else than 0, such as 0 / 0: those are filled in.
std::optional<CsrMatrix> withRepeated(CellFunction function, const CsrMatrix &x, const Tensor &v) {
  bool column = v.shape()[1] == 1 && v.shape()[0] == x.rows();
  bool row = v.shape()[0] == 1 && v.shape()[1] == x.cols();
  if (column == row)
    return std::nullopt;
  std::vector<double> atZero(static_cast<size_t>(v.elements()));
  std::vector<CsrMatrix::Column> filled; // elements of v
  for (size_t i = 0; i < atZero.size(); ++i) {
    atZero[i] = apply(function, 0, v.as<double>()[i]);
    if (atZero[i] != 0)
      filled.push_back(static_cast<CsrMatrix::Column>(i));
  }
  int64_t others = std::ssize(filled) * (column ? x.cols() : x.rows());
  int64_t stored = x.nonzeros() + others;
  if (!preferSparse(x.rows(), x.cols(), stored))
    return std::nullopt;
  if (column) { // of a row that is filled, all columns are
    filled.resize(filled.empty() ? 0 : x.cols());
    std::iota(filled.begin(), filled.end(), 0);
  }
  auto fill = [&](int64_t begin, int64_t end, int, sparse::RowSink &sink) {
    for (int64_t i = begin; i < end; ++i) {
      auto columns = x.columnsOf(i);
      auto values = x.valuesOf(i);
      size_t next = 0, other = column && atZero[i] == 0 ? filled.size() : 0;
      while (next < columns.size() || other < filled.size()) {
        bool isStored =
            next < columns.size() && (other == filled.size() || columns[next] <= filled[other]);
        CsrMatrix::Column j = isStored ? columns[next] : filled[other];
        other += other < filled.size() && filled[other] == j;
        auto at = static_cast<size_t>(column ? i : j);
        sink.append(j, isStored ? apply(function, values[next++], v.as<double>()[at]) : atZero[at]);
      }
      sink.endRow();
    }
  };
  return sparse::buildRows(x.rows(), x.cols(), stored, ThreadPool::global(), fill);
}

} // namespace headrace::script
