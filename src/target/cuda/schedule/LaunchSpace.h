// The launches of an operation on a device, as a space of records.
#pragma once

#include "target/cuda/schedule/LegalSchedule.h"

#include "schedule/Space.h"

namespace headrace::cuda {

class LaunchSpace final : public ScheduleSpace {
public:
  /// For an operation that has its schedule.
  LaunchSpace(mlir::Operation *op, DeviceTraits device)
      : op(op), own(*Schedule::of(op)), device(device) {}

  std::string stage() const override;
  ScheduleRecord proposed() const override { return own.record(); }
  std::vector<ScheduleRecord> otherKinds() const override;
  std::vector<int64_t> domainOf(const ScheduleRecord &schedule,
                                std::string_view parameter) const override;
  std::string unsupportedReason(const ScheduleRecord &schedule) const override;
  /// Those of other kinds: what a kind's parameters are, its proposal knows well.
  std::vector<ScheduleRecord> alternatives() const override { return otherKinds(); }

private:
  mlir::Operation *op;
  Schedule own;
  DeviceTraits device;
};

} // namespace headrace::cuda
