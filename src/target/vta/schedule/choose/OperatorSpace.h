// The schedules of an operator on the accelerator, as a space of records.
#pragma once

#include "target/vta/schedule/choose/ProposeSchedule.h"

#include "schedule/Space.h"

namespace headrace::vta {

class OperatorSpace final : public ScheduleSpace {
public:
  /// `own`: the schedule that the operator has.
  OperatorSpace(Operator op, Configuration configuration, Schedule own)
      : op(std::move(op)), configuration(std::move(configuration)), own(own) {}

  /// Lines on a tile stand directly under their kernel.
  std::string stage() const override { return ""; }
  ScheduleRecord proposed() const override { return own.record(); }
  std::vector<int64_t> domainOf(const ScheduleRecord &schedule,
                                std::string_view parameter) const override;
  std::string unsupportedReason(const ScheduleRecord &schedule) const override {
    return vta::unsupportedReason(op, Schedule::of(schedule), configuration);
  }
  /// Those with the least predicted cycles.
  std::vector<ScheduleRecord> alternatives() const override;
  std::string recipe(const ScheduleRecord &schedule) const override {
    return textOf(Schedule::of(schedule), op);
  }

private:
  Operator op;
  Configuration configuration;
  Schedule own;
};

} // namespace headrace::vta
