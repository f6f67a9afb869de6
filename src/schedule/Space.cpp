#include "schedule/Space.h"

#include <algorithm>
#include <random>
#include <unordered_set>

namespace headrace {

std::vector<ScheduleRecord> ScheduleSpace::alternatives() const {
  std::vector<ScheduleRecord> result;
  ScheduleRecord base = proposed();
  for (const auto &[name, own] : base.parameters)
    for (int64_t value : domainOf(base, name))
      if (value != own) {
        result.push_back(base);
        result.back().set(name, value);
      }
  for (ScheduleRecord &other : otherKinds())
    result.push_back(std::move(other));
  return result;
}

std::string ScheduleSpace::recipe(const ScheduleRecord &schedule) const {
  return stage() + ": " + schedule.text();
}

std::vector<ScheduleRecord> sampled(const ScheduleSpace &space, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ScheduleRecord> starts = space.otherKinds(), result;
  starts.insert(starts.begin(), space.proposed());
  std::unordered_set<uint64_t> seen;
  // A small space is exhausted long before so many attempts in vain.
  constexpr int kAttempts = 16;
  for (int inVain = 0; result.size() < count && inVain < kAttempts;) {
    ScheduleRecord schedule = starts[random() % starts.size()];
    for (size_t i = 0; i < schedule.parameters.size(); ++i) {
      std::string name = schedule.parameters[i].first;
      // A domain is of the values that are legal beside the others as they are now.
      std::vector<int64_t> domain = space.domainOf(schedule, name);
      if (!domain.empty())
        schedule.set(name, domain[random() % domain.size()]);
    }
    bool isNew = space.unsupportedReason(schedule).empty() && seen.insert(schedule.hash()).second;
    inVain = isNew ? 0 : inVain + 1;
    if (isNew)
      result.push_back(std::move(schedule));
  }
  return result;
}

namespace {

/// Depth first, one parameter after the other.
void enumerate(const ScheduleSpace &space, ScheduleRecord &schedule, size_t parameter, size_t most,
               std::vector<ScheduleRecord> &result) {
  if (result.size() >= most)
    return;
  if (parameter == schedule.parameters.size()) {
    if (space.unsupportedReason(schedule).empty())
      result.push_back(schedule);
    return;
  }
  const std::string name = schedule.parameters[parameter].first;
  const int64_t own = schedule.parameters[parameter].second;
  for (int64_t value : space.domainOf(schedule, name)) {
    schedule.set(name, value);
    enumerate(space, schedule, parameter + 1, most, result);
  }
  schedule.set(name, own);
}

} // namespace

std::vector<ScheduleRecord> enumerated(const ScheduleSpace &space, size_t most) {
  std::vector<ScheduleRecord> result, starts = space.otherKinds();
  starts.insert(starts.begin(), space.proposed());
  for (ScheduleRecord &start : starts)
    enumerate(space, start, 0, most, result);
  return result;
}

} // namespace headrace
