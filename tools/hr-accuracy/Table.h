// The table of errors in the documentation: one line a function, one column a type and target.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headrace::accuracy {

struct Table {
  /// Errors in units of the last place, by function and column ("cpu f32").
  std::map<std::string, std::map<std::string, double>> errors;
  std::vector<std::string> functions; ///< in the order of their lines
};

const std::vector<std::string> &columns();

/// Lines of Markdown, errors rounded up to tenths.
std::string textOf(const Table &table);

/// The table that is in a file.
Table readTable(const std::filesystem::path &file);

/// Puts the table instead of the one in the file.
void writeTable(const std::filesystem::path &file, const Table &table);

} // namespace headrace::accuracy
