// A way to compute a kernel: a schedule for each of its stages that has a choice.
#pragma once

#include "schedule/Schedule.h"
#include <string>
#include <vector>

namespace headrace::tune {

struct Candidate {
  std::vector<ScheduleRecord> schedules;

  bool operator==(const Candidate &) const = default;
  /// "tiles rows=6 columns=32; rows vector=64"
  std::string text() const {
    std::string text;
    for (const ScheduleRecord &schedule : schedules)
      text += (text.empty() ? "" : "; ") + schedule.text();
    return text;
  }
};

inline double distanceBetween(const Candidate &a, const Candidate &b) {
  double distance = 0;
  for (size_t i = 0; i < a.schedules.size() && i < b.schedules.size(); ++i)
    distance += headrace::distanceBetween(a.schedules[i], b.schedules[i]);
  return distance;
}

} // namespace headrace::tune
