// Cycles of an operator's schedule, by the cycle model. Nothing is computed: cycles follow from
// the commands alone.
#pragma once

#include "runtime/vta/Simulator.h"
#include "target/vta/schedule/AluProgram.h"
#include "target/vta/schedule/LegalSchedule.h"
#include "target/vta/schedule/OperatorShape.h"

namespace headrace::vta {

struct ScheduleReport {
  int64_t cycles = 0;
  double peakShare = 0; ///< the operator's own multiplications, of those in that time at peak
  std::array<ModuleUse, moduleCount> modules{};
  Work work; ///< bytes by memory, micro-ops, multiplications with those of padding blocks
};

/// The report of an existing program.
ScheduleReport reportOf(const Operator &op, const Program &program,
                        const CycleConstants &constants = {});
/// The report of a schedule, from commands without the values of weights and constants.
ScheduleReport simulate(const Operator &op, const Schedule &schedule,
                        const Configuration &configuration, const CycleConstants &constants = {});
/// The report of a legal schedule of an operator that is counted in blocks.
ScheduleReport simulate(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                        const Schedule &schedule, const Configuration &configuration,
                        const CycleConstants &constants = {});

} // namespace headrace::vta
