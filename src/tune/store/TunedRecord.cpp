#include "tune/store/TunedRecord.h"

#include <cmath>

namespace headrace::tune {

namespace {

constexpr size_t kMaxSchedules = 64;
constexpr const char *kKind = "kind";

double time(const Json &object, const char *name) {
  const Json &value = member(object, name);
  double microseconds = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(microseconds) || microseconds < 0)
    throw JsonFault(std::string("expected a time '") + name + "'");
  return microseconds;
}

} // namespace

Json toJson(const ScheduleRecord &schedule) {
  Json json{{kKind, schedule.kind}};
  for (const auto &[name, value] : schedule.parameters)
    json[name] = value;
  return json;
}

ScheduleRecord scheduleFromJson(const Json &json) {
  ScheduleRecord schedule;
  schedule.kind = text(json, kKind);
  for (const auto &[name, value] : json.items())
    if (name != kKind)
      schedule.parameters.emplace_back(name, integerOf(value));
  return schedule;
}

Json toJson(const TunedRecord &record) {
  Json schedules = Json::array();
  for (const ScheduleRecord &schedule : record.schedules)
    schedules.push_back(toJson(schedule));
  return {{"kernel", record.kernel},   {"anchor", record.anchor},
          {"machine", record.machine}, {"generator", record.generator},
          {"name", record.name},       {"schedules", schedules},
          {"us", record.microseconds}, {"default_us", record.defaultMicroseconds}};
}

TunedRecord recordFromJson(const Json &json) {
  TunedRecord record;
  record.kernel = text(json, "kernel");
  record.anchor = text(json, "anchor");
  record.machine = text(json, "machine");
  record.generator = integer(json, "generator", 0);
  record.name = text(json, "name");
  const Json &schedules = list(json, "schedules");
  if (schedules.empty() || schedules.size() > kMaxSchedules)
    throw JsonFault("expected 1 to 64 schedules, got " + std::to_string(schedules.size()));
  for (const Json &schedule : schedules)
    record.schedules.push_back(scheduleFromJson(schedule));
  record.microseconds = time(json, "us");
  record.defaultMicroseconds = time(json, "default_us");
  return record;
}

} // namespace headrace::tune
