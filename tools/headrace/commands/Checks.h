// The values that options take. Others are rejected in the command line's own words: "--rounds:
// expected an integer from 1 to 1000000, got '0'".
#pragma once

#include "runtime/system/Listing.h"

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <ranges>
#include <type_traits>

namespace headrace::cli {

template <class T> CLI::Validator inRange(T low, T high = std::numeric_limits<T>::max()) {
  auto refusal = [low, high](const std::string &text) -> std::string {
    T value{};
    bool wraps = std::is_unsigned_v<T> && text.starts_with('-');
    if (!wraps && CLI::detail::lexical_cast(text, value) && low <= value && value <= high)
      return "";
    std::string limits = high == std::numeric_limits<T>::max()
                             ? fmt::format("of {} or more", low)
                             : fmt::format("from {} to {}", low, high);
    return fmt::format("expected {} {}, got '{}'",
                       std::is_integral_v<T> ? "an integer" : "a number", limits, text);
  };
  return CLI::Validator(refusal, "");
}

inline CLI::Validator aboveZero() {
  auto refusal = [](const std::string &text) -> std::string {
    double value = 0;
    return CLI::detail::lexical_cast(text, value) && value > 0
               ? ""
               : fmt::format("expected a number above 0, got '{}'", text);
  };
  return CLI::Validator(refusal, "");
}

inline CLI::Validator oneOf(std::vector<std::string> names) {
  auto refusal = [names = std::move(names)](const std::string &text) -> std::string {
    if (std::ranges::find(names, text) != names.end())
      return "";
    return fmt::format("expected {}, got '{}'", listed(names), text);
  };
  return CLI::Validator(refusal, "");
}

/// For `transform`: names instead of an enumeration's numbers.
template <class Enum> CLI::Validator oneOf(const std::map<std::string, Enum> &names) {
  auto refusal = [names](std::string &text) -> std::string {
    auto found = names.find(text);
    if (found == names.end())
      return fmt::format("expected {}, got '{}'", listed(std::views::keys(names)), text);
    text = std::to_string(static_cast<int>(found->second));
    return "";
  };
  return CLI::Validator(refusal, "");
}

} // namespace headrace::cli
