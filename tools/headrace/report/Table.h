#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace headrace::cli {

/// Columns as wide as their widest cell; the first line is the header.
class Table {
public:
  enum class Align { Left, Right };
  struct Column {
    std::string header;
    Align align = Align::Right;
  };

  explicit Table(std::vector<Column> columns) : columns(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  void print(std::FILE *stream) const;

private:
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

} // namespace headrace::cli
