#pragma once

#include "runtime/sparse/CsrMatrix.h"

#include <vector>

namespace headrace::sparse {

/// Below this many elements a loop stays in its thread.
inline constexpr int64_t grain = 16384;

/// Takes the entries of consecutive rows, in ascending order of columns.
class RowSink {
public:
  /// Zeros are dropped.
  void append(CsrMatrix::Column column, double value) {
    if (value == 0)
      return;
    columns.push_back(column);
    values.push_back(value);
  }
  void endRow() { rowEnds.push_back(static_cast<int64_t>(columns.size())); }

private:
  friend CsrMatrix joinRows(int64_t rows, int64_t cols, std::span<const RowSink> sinks,
                            ThreadPool &pool);
  std::vector<CsrMatrix::Column> columns;
  std::vector<double> values;
  std::vector<int64_t> rowEnds;
};

/// The matrix whose rows the sinks hold, one after the other.
CsrMatrix joinRows(int64_t rows, int64_t cols, std::span<const RowSink> sinks, ThreadPool &pool);

/// Builds a matrix in parallel. `fill` gives the rows [begin, end) to the sink, ending each;
/// `work` is about how many elements all rows together touch.
using FillRows = FunctionRef<void(int64_t begin, int64_t end, int worker, RowSink &sink)>;
CsrMatrix buildRows(int64_t rows, int64_t cols, int64_t work, ThreadPool &pool, FillRows fill);

/// Calls `body` on ranges of rows of about equal work, if a row costs `perEntry` for each of its
/// entries and `perRow`.
struct RowCost {
  int64_t perEntry = 1, perRow = 1;
};
using RowRange = FunctionRef<void(int64_t begin, int64_t end)>;
void forRows(const CsrMatrix &matrix, RowCost cost, ThreadPool &pool, RowRange body);

/// The first row of part `part` of `parts` of about equal work; parts == part gives rows().
int64_t firstRowOfPart(const CsrMatrix &matrix, int64_t part, int64_t parts);

} // namespace headrace::sparse
