#include "driver/staged/host/RegularExpression.h"

#include "driver/staged/host/Text.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

namespace headrace::staged {

static constexpr size_t kLongestPattern = 1000;

RegularExpression::RegularExpression(std::string_view pattern) {
  try {
    if (pattern.size() > kLongestPattern)
      throw std::regex_error(std::regex_constants::error_complexity);
    // Polynomial: all ways to match advance together, so that the longest match is found.
    expression.assign(toCharacters(pattern),
                      std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error &) {
    throw Error(ErrorKind::Unsupported,
                "expected a regular expression without back references of at most " +
                    std::to_string(kLongestPattern) + " characters, found " + inQuotes(pattern));
  }
}

bool RegularExpression::matches(std::wstring_view text) const {
  return std::regex_match(text.begin(), text.end(), expression);
}

std::optional<RegularExpression::Match> RegularExpression::find(std::wstring_view text,
                                                                size_t from) const {
  if (from > text.size())
    return std::nullopt;
  const wchar_t *begin = text.data() + from, *end = text.data() + text.size();
  auto flags =
      from > 0 ? std::regex_constants::match_prev_avail : std::regex_constants::match_default;
  std::wcmatch found;
  if (!std::regex_search(begin, end, found, expression, flags))
    return std::nullopt;
  return Match{from + static_cast<size_t>(found.position()), static_cast<size_t>(found.length())};
}

} // namespace headrace::staged
