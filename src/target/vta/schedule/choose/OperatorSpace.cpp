#include "target/vta/schedule/choose/OperatorSpace.h"

#include <algorithm>

namespace headrace::vta {

std::vector<int64_t> OperatorSpace::domainOf(const ScheduleRecord &schedule,
                                             std::string_view parameter) const {
  std::vector<int64_t> values = vta::domainOf(op, configuration, parameter);
  int64_t given = *schedule.find(parameter);
  if (std::ranges::find(values, given) == values.end())
    values.push_back(given);
  std::ranges::sort(values);
  std::erase_if(values, [&](int64_t value) {
    ScheduleRecord other = schedule;
    other.set(parameter, value);
    return !unsupportedReason(other).empty();
  });
  return values;
}

std::vector<ScheduleRecord> OperatorSpace::alternatives() const {
  constexpr size_t most = 16;
  std::vector<ScheduleRecord> result;
  std::string ownText = textOf(own, op);
  for (const Schedule &schedule : vta::alternatives(op, configuration, most))
    if (textOf(schedule, op) != ownText)
      result.push_back(schedule.record());
  return result;
}

} // namespace headrace::vta
