// The schedules of a kernel on a processor, as a space of records.
#pragma once

#include "target/cpu/recipe/ScheduleKernel.h"

#include "schedule/Space.h"

namespace headrace {

class KernelSpace final : public ScheduleSpace {
public:
  KernelSpace(mlir::func::FuncOp kernel, const Machine &machine) : scheduler(kernel, machine) {}

  bool hasChoice() const { return scheduler.hasChoice(); }
  const KernelScheduler &kernel() const { return scheduler; }

  std::string stage() const override { return scheduler.stage().str(); }
  ScheduleRecord proposed() const override { return scheduler.propose().record(); }
  std::vector<ScheduleRecord> otherKinds() const override {
    std::vector<ScheduleRecord> result;
    for (const CpuSchedule &schedule : scheduler.otherKinds())
      result.push_back(schedule.record());
    return result;
  }
  std::vector<int64_t> domainOf(const ScheduleRecord &schedule,
                                std::string_view parameter) const override {
    llvm::SmallVector<int64_t> domain = scheduler.domainOf(CpuSchedule::of(schedule), parameter);
    return {domain.begin(), domain.end()};
  }
  std::string unsupportedReason(const ScheduleRecord &schedule) const override {
    return scheduler.refusalOf(CpuSchedule::of(schedule));
  }

private:
  KernelScheduler scheduler;
};

} // namespace headrace
