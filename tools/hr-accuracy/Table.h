// The table of errors in the documentation: one line a function, one column a type and target.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headrace::accuracy {

/// Errors in units of the last place, by function and column ("cpu f32").
using Errors = std::map<std::string, std::map<std::string, double>>;

const std::vector<std::string> &columns();

/// Lines of Markdown, errors rounded up to tenths; functions in this order.
std::string tableText(const Errors &errors, const std::vector<std::string> &functions);

/// The table that stands in a file.
Errors readTable(const std::filesystem::path &file);

/// Puts the table in place of the one in the file.
void writeTable(const std::filesystem::path &file, const std::string &table);

} // namespace headrace::accuracy
