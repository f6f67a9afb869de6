// Names in messages of rejected steps.
#pragma once

#include <string>

namespace headrace {

inline std::string inQuotes(const std::string &name) { return "'" + name + "'"; }

template <class Range> std::string listNames(const Range &range) {
  std::string list;
  for (const auto &entry : range)
    list += (list.empty() ? "" : ", ") + entry.name;
  return list.empty() ? "none" : list;
}

} // namespace headrace
