// Regular expressions over characters, matched in time linear in the text for each place where a
// match may begin.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace headrace::staged {

class RegularExpression {
public:
  /// Throws Error if the pattern is malformed, too long, or has back references.
  explicit RegularExpression(std::string_view pattern);

  /// Whether it matches the whole text.
  bool matches(std::wstring_view text) const;

  struct Match {
    size_t begin, length;
  };
  /// The first match that begins at `from` or later, the longest of those with that beginning.
  std::optional<Match> find(std::wstring_view text, size_t from) const;

private:
  std::wregex expression;
};

} // namespace headrace::staged
