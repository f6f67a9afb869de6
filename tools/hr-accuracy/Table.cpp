#include "Table.h"

#include "runtime/system/Error.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace headrace::accuracy {
namespace {

constexpr const char *kBegin = "<!-- table: hr-accuracy --write -->\n";
constexpr const char *kEnd = "<!-- end of table -->\n";

std::string contentOf(const std::filesystem::path &file) {
  std::ifstream stream(file);
  if (!stream)
    throw Error(ErrorKind::InvalidArgument, file.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Where the table is in the file's text.
std::pair<size_t, size_t> placeOfTable(const std::filesystem::path &file, const std::string &text) {
  size_t begin = text.find(kBegin), end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw Error(ErrorKind::InvalidArgument,
                file.string() + ": expected a table between '<!-- table: hr-accuracy --write -->' "
                                "and '<!-- end of table -->', got none");
  return {begin + std::char_traits<char>::length(kBegin), end};
}

std::vector<std::string> cellsOf(const std::string &line) {
  std::vector<std::string> cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    size_t first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

} // namespace

const std::vector<std::string> &columns() {
  static const std::vector<std::string> names = {"cpu f16", "cpu bf16", "cpu f32",
                                                 "cpu f64", "cuda f32", "cuda f64"};
  return names;
}

std::string textOf(const Table &table) {
  std::string text = "| function |", rule = "|---|";
  for (const std::string &column : columns()) {
    text += " " + column + " |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string &function : table.functions) {
    auto row = table.errors.find(function);
    if (row == table.errors.end()) // not measured yet
      continue;
    text += "| `" + function + "` |";
    for (const std::string &column : columns()) {
      auto found = row->second.find(column);
      char cell[32] = " ";
      if (found != row->second.end())
        std::snprintf(cell, sizeof cell, " %.3g ",
                      std::max(0.0, std::ceil(found->second * 10 - 1e-9) / 10));
      text += cell + std::string("|");
    }
    text += "\n";
  }
  return text;
}

Table readTable(const std::filesystem::path &file) {
  std::string text = contentOf(file);
  auto [begin, end] = placeOfTable(file, text);
  std::istringstream lines(text.substr(begin, end - begin));
  std::vector<std::string> names;
  Table table;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("|---"))
      continue;
    std::vector<std::string> cells = cellsOf(line);
    if (names.empty()) {
      names = cells;
      continue;
    }
    table.functions.push_back(cells[0]);
    for (size_t i = 1; i < cells.size() && i < names.size(); ++i)
      if (!cells[i].empty())
        table.errors[cells[0]][names[i]] = std::stod(cells[i]);
  }
  return table;
}

void writeTable(const std::filesystem::path &file, const Table &table) {
  std::string text = contentOf(file);
  auto [begin, end] = placeOfTable(file, text);
  text.replace(begin, end - begin, textOf(table));
  std::ofstream(file) << text;
}

} // namespace headrace::accuracy
