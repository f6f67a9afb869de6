#pragma once

#include <string>

namespace headrace {

/// Reads a decimal number, or NaN, Inf or Infinity in any case, at the start of [begin, end), to
/// the nearest double; what exceeds all doubles is infinite. Returns where it ends, null if there
/// is none.
const char *parseNumber(const char *begin, const char *end, double &value);

/// Appends the shortest text that reads back as the same double.
void appendNumber(std::string &text, double value);

} // namespace headrace
