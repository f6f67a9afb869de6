// A result of tuning: the schedule that was measured to be the fastest for a kernel on a machine.
// As text it is a line of JSON, in the store (TunedStore.h) and in logs:
//
//   {"kernel":"9f2c...","anchor":"51ab...","machine":"AMD EPYC ... x86-64-v4","generator":1,
//    "name":"conv1","schedules":[{"kind":"tiles","rows":6,"columns":32}],"us":12.1,"default_us":14.0}
#pragma once

#include "runtime/system/Json.h"

#include "schedule/Schedule.h"

namespace headrace::tune {

/// Raised when kernels or schedules change their meaning: older results are not used any more.
inline constexpr int64_t generatorVersion = 1;

struct TunedRecord {
  /// The fingerprint of the kernel's computation, with its sizes (driver/KernelPrograms.h),
  /// and that of one of its operators.
  std::string kernel, anchor;
  /// The CPU or device that it was measured on, and the code's needs.
  std::string machine;
  int64_t generator = generatorVersion;
  /// For people: how the model calls the kernel.
  std::string name;
  /// One for each stage that has a choice.
  std::vector<ScheduleRecord> schedules;
  double microseconds = 0, defaultMicroseconds = 0;
};

Json toJson(const ScheduleRecord &schedule);
/// Throws JsonFault.
ScheduleRecord scheduleFromJson(const Json &json);

Json toJson(const TunedRecord &record);
/// Throws JsonFault.
TunedRecord recordFromJson(const Json &json);

} // namespace headrace::tune
