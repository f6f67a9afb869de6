#pragma once

#include <cstddef>
#include <string_view>

namespace headrace {

/// Whether lists and objects of a JSON text lie within each other more than `levels` deep. The
/// parser takes any depth, but whoever walks, copies or prints the result does so by recursion.
inline bool isNestedBeyond(std::string_view json, size_t levels) {
  size_t depth = 0;
  bool inText = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (inText) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inText = false;
    } else if (c == '"') {
      inText = true;
    } else if (c == '[' || c == '{') {
      if (++depth > levels)
        return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// Deeper than any file of ours.
inline constexpr size_t maxJsonNesting = 64;

} // namespace headrace
