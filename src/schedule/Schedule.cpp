#include "schedule/Schedule.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>

namespace headrace {

std::optional<int64_t> ScheduleRecord::find(std::string_view name) const {
  for (const auto &[known, value] : parameters)
    if (known == name)
      return value;
  return std::nullopt;
}

void ScheduleRecord::set(std::string_view name, int64_t value) {
  for (auto &[known, own] : parameters)
    if (known == name) {
      own = value;
      return;
    }
  throw InternalError("schedule '" + text() + "' has no parameter '" + std::string(name) + "'");
}

std::string ScheduleRecord::text() const {
  std::string text = kind;
  for (const auto &[name, value] : parameters)
    text += " " + name + "=" + std::to_string(value);
  return text;
}

uint64_t ScheduleRecord::hash() const {
  // FNV-1a: the same in every process, unlike std::hash.
  uint64_t hash = 14695981039346656037u;
  for (unsigned char letter : text())
    hash = (hash ^ letter) * 1099511628211u;
  return hash;
}

double distanceBetween(const ScheduleRecord &a, const ScheduleRecord &b) {
  constexpr double ofKind = 64;
  double distance = a.kind == b.kind ? 0 : ofKind;
  for (const auto &[name, value] : a.parameters) {
    std::optional<int64_t> other = b.find(name);
    distance += other ? std::fabs(std::log2((1.0 + static_cast<double>(value)) /
                                            (1.0 + static_cast<double>(*other))))
                      : 1;
  }
  for (const auto &[name, value] : b.parameters)
    distance += !a.has(name);
  return distance;
}

} // namespace headrace
