#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// Reads a decimal number, or NaN, Inf or Infinity in any case, at the start of [begin, end), to
/// the nearest double; a number beyond all doubles is infinite. Returns where it ends, null if
/// there is none.
const char *parseNumber(const char *begin, const char *end, double &value);

/// The number that is all of the text, if it is one.
std::optional<double> numberOf(std::string_view text);
std::optional<int64_t> wholeNumberOf(std::string_view text);

/// Appends the shortest text that reads back as the same double.
void appendNumber(std::string &text, double value);

} // namespace headrace
