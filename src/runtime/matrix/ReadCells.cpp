#include "runtime/matrix/Number.h"
#include "runtime/matrix/Readers.h"

#include <algorithm>

namespace headrace {

namespace {

/// The next word as a 1-based index up to `size`; returns it 0-based.
int64_t readIndex(const FileText &file, std::string_view &line, int64_t size, const char *which) {
  std::string_view word = takeWord(line);
  std::optional<int64_t> index = wholeNumberOf(word);
  if (!index || *index < 1 || *index > size)
    file.fail(word, std::string("expected a ") + which + " from 1 to " + std::to_string(size) +
                        ", got " + (word.empty() ? "nothing" : inQuotes(word)));
  return *index - 1;
}

double readValue(const FileText &file, std::string_view &line) {
  std::string_view word = takeWord(line);
  std::optional<double> value = numberOf(word);
  if (!value)
    file.fail(word, "expected a number after row and column, got " +
                        (word.empty() ? std::string("nothing") : inQuotes(word)));
  return *value;
}

void readPiece(const FileText &file, std::string_view text, CellFormat format, CellList &cells) {
  while (!text.empty()) {
    std::string_view line = trimmed(takeLine(text));
    if (line.empty() || line.front() == '%')
      continue;
    cells.rows.push_back(readIndex(file, line, format.rows, "row"));
    cells.cols.push_back(readIndex(file, line, format.cols, "column"));
    cells.values.push_back(format.hasValues ? readValue(file, line) : 1);
    if (!trimmed(line).empty())
      file.fail(line, "expected the end of the line, got " + inQuotes(trimmed(line)));
  }
}

Tensor denseOfCells(int64_t rows, int64_t cols, const CellList &cells) {
  Tensor dense = Tensor::allocate(DType::F64, {rows, cols});
  std::fill_n(dense.as<double>(), dense.elements(), 0.0);
  for (size_t i = 0; i < cells.values.size(); ++i)
    dense.as<double>()[cells.rows[i] * cols + cells.cols[i]] += cells.values[i];
  return dense;
}

} // namespace

CellList readCells(const FileText &file, std::string_view text, CellFormat format,
                   ThreadPool &pool) {
  std::vector<std::string_view> pieces = splitAtLines(text);
  std::vector<CellList> lists(pieces.size());
  forPieces(pieces.size(), pool,
            [&](size_t piece) { readPiece(file, pieces[piece], format, lists[piece]); });
  if (lists.size() == 1)
    return std::move(lists.front());
  CellList all;
  for (CellList &list : lists) {
    all.rows.insert(all.rows.end(), list.rows.begin(), list.rows.end());
    all.cols.insert(all.cols.end(), list.cols.begin(), list.cols.end());
    all.values.insert(all.values.end(), list.values.begin(), list.values.end());
    list = {};
  }
  return all;
}

Matrix matrixOfCells(const FileText &file, int64_t rows, int64_t cols, const CellList &cells,
                     ThreadPool &pool) {
  auto stored = static_cast<int64_t>(cells.values.size());
  bool sparse = preferSparse(rows, cols, stored);
  double entries =
      sparse ? static_cast<double>(rows) : static_cast<double>(rows) * static_cast<double>(cols);
  checkFitsMemory(file.name(), rows, cols, entries * sizeof(double));
  if (!sparse) // zeros among the cells may leave fewer than it seemed
    return inPreferredFormat(denseOfCells(rows, cols, cells), pool);
  return CsrMatrix::fromCells(rows, cols, cells.rows, cells.cols, cells.values, pool);
}

Matrix readTextCells(const FileText &file, const FileDescription &description, ThreadPool &pool) {
  if (!description.rows || !description.cols)
    file.fail("expected its rows and cols as arguments, or in " +
              metadataPath(file.name()).filename().string());
  CellList cells = readCells(file, file.text(), {*description.rows, *description.cols, true}, pool);
  return matrixOfCells(file, *description.rows, *description.cols, cells, pool);
}

} // namespace headrace
