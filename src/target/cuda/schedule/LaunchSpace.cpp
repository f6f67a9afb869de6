#include "target/cuda/schedule/LaunchSpace.h"

#include "target/cuda/schedule/LegalSchedule.h"
#include "target/cuda/schedule/ProposeSchedule.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace headrace::cuda {

std::string LaunchSpace::stage() const { return stageOf(op).str(); }

std::vector<ScheduleRecord> LaunchSpace::otherKinds() const {
  std::vector<ScheduleRecord> result;
  for (StringRef name : Schedule::kindNames()) {
    Schedule::Kind kind = *Schedule::kindNamed(name);
    auto schedule = propose(op, kind, device);
    if (schedule && kind != own.kind && !refusalOf(op, *schedule, device.hasWarpgroups))
      result.push_back(schedule->record());
  }
  return result;
}

std::vector<int64_t> LaunchSpace::domainOf(const ScheduleRecord &schedule,
                                           std::string_view parameter) const {
  static const std::vector<int64_t> threads{32, 64, 128, 256, 384, 512, 1024},
      tiles{16, 32, 64, 128, 256}, few{1, 2, 4, 8, 16, 32}, stages{2, 3, 4, 5, 6};
  const std::vector<int64_t> *candidates =
      llvm::StringSwitch<const std::vector<int64_t> *>(parameter)
          .Case("threads", &threads)
          .Cases("tileM", "tileN", "tileK", &tiles)
          .Cases("vector", "lanes", "held", &few)
          .Cases("threadM", "threadN", "splits", &few)
          .Case("stages", &stages)
          .Default(nullptr);
  std::vector<int64_t> values{*schedule.find(parameter)};
  if (candidates)
    for (int64_t value : *candidates)
      if (value != values.front())
        values.push_back(value);
  llvm::sort(values);
  llvm::erase_if(values, [&](int64_t value) {
    ScheduleRecord other = schedule;
    other.set(parameter, value);
    return !unsupportedReason(other).empty();
  });
  return values;
}

std::string LaunchSpace::unsupportedReason(const ScheduleRecord &schedule) const {
  auto reason = refusalOf(op, Schedule::of(schedule, own), device.hasWarpgroups);
  if (!reason)
    return "";
  return (reason->parameter.empty() ? "" : reason->parameter.str() + ": ") + reason->reason;
}

} // namespace headrace::cuda
