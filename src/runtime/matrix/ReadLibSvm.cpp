// Lines `label column:value ...`, columns 1-based: the label becomes the last column.
#include "runtime/matrix/Number.h"
#include "runtime/matrix/Readers.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace {

namespace {

double numberAt(const FileText &file, std::string_view text) {
  std::optional<double> value = numberOf(text);
  if (!value)
    file.fail(text, "expected a number, got " + inQuotes(text));
  return *value;
}

/// "12:0.5"
void readPair(const FileText &file, std::string_view word, int64_t row, CellList &cells) {
  size_t colon = word.find(':');
  std::optional<int64_t> column = wholeNumberOf(word.substr(0, colon));
  if (colon == std::string_view::npos || !column || *column < 1 || *column >= INT32_MAX)
    file.fail(word, "expected COLUMN:VALUE with a column of 1 or more, got " + inQuotes(word));
  cells.rows.push_back(row);
  cells.cols.push_back(*column - 1);
  cells.values.push_back(numberAt(file, word.substr(colon + 1)));
}

} // namespace

Matrix readLibSvm(const FileText &file, const FileDescription &description, ThreadPool &pool) {
  CellList cells;
  std::vector<double> labels;
  std::string_view text = file.text();
  while (!text.empty()) {
    std::string_view line = takeLine(text);
    line = line.substr(0, line.find('#'));
    std::string_view word = takeWord(line);
    if (word.empty())
      continue;
    auto row = std::ssize(labels);
    labels.push_back(numberAt(file, word));
    while (!(word = takeWord(line)).empty())
      readPair(file, word, row, cells);
  }
  int64_t features = cells.cols.empty() ? 0 : *std::ranges::max_element(cells.cols) + 1;
  int64_t cols = description.cols.value_or(features + 1), rows = std::ssize(labels);
  if (features >= cols || description.rows.value_or(rows) != rows)
    file.fail("expected " + std::to_string(description.rows.value_or(rows)) +
              " rows with columns below " + std::to_string(cols) + " as declared, got " +
              std::to_string(rows) + " rows with columns up to " + std::to_string(features));
  for (int64_t row = 0; row < rows; ++row) {
    cells.rows.push_back(row);
    cells.cols.push_back(cols - 1);
    cells.values.push_back(labels[row]);
  }
  return matrixOfCells(file, rows, cols, cells, pool);
}

} // namespace headrace
