#include "report/Table.h"

#include "report/Text.h"
#include "terminal/Console.h"
#include <algorithm>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

// Characters of UTF-8 text: all bytes but the continuations.
size_t widthOf(const std::string &text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

} // namespace

void Table::add(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = printable(cell);
  cells.resize(columns.size());
  rows.push_back(std::move(cells));
}

void Table::print(std::FILE *stream) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns.size(); ++c) {
    widths.push_back(widthOf(columns[c].header));
    for (const std::vector<std::string> &row : rows)
      widths[c] = std::max(widths[c], widthOf(row[c]));
  }
  auto lineOf = [&](auto cellAt) {
    std::string line;
    for (size_t c = 0; c < columns.size(); ++c) {
      std::string cell = cellAt(c);
      std::string blanks(widths[c] - widthOf(cell), ' ');
      line += c ? "  " : "";
      line += columns[c].align == Align::Left ? cell + blanks : blanks + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::string header = lineOf([&](size_t c) { return columns[c].header; });
  fmt::print(stream, "{}\n", styled(stream, Style::Bold, header));
  for (const std::vector<std::string> &row : rows)
    fmt::print(stream, "{}\n", lineOf([&](size_t c) { return row[c]; }));
}

} // namespace headrace::cli
