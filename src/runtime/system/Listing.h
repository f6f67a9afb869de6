// Lists of names as messages have them: "cpu, cuda or vta".
#pragma once

#include <iterator>
#include <ranges>
#include <string>
#include <string_view>

namespace headrace {

/// `last` is before the last of several names.
template <std::ranges::forward_range Names>
std::string listed(const Names &names, std::string_view last = " or ") {
  std::string text;
  for (auto it = std::ranges::begin(names); it != std::ranges::end(names); ++it) {
    if (!text.empty())
      text += std::next(it) == std::ranges::end(names) ? last : ", ";
    text += *it;
  }
  return text;
}

} // namespace headrace
