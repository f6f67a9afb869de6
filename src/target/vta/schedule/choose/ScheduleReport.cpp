#include "target/vta/schedule/choose/ScheduleReport.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"
#include "target/vta/schedule/write/OperatorWriter.h"

namespace headrace::vta {

ScheduleReport reportOf(const Operator &op, const Program &program,
                        const CycleConstants &constants) {
  Simulation simulation = estimate(program, constants);
  if (simulation.fault)
    throw Error(ErrorKind::InvalidArgument,
                "operator " + inQuotes(op.name) + ": " + simulation.fault->what());
  ScheduleReport report{simulation.cycles, 0, simulation.modules, simulation.work};
  report.peakShare = static_cast<double>(op.macs()) /
                     (static_cast<double>(report.cycles) *
                      static_cast<double>(program.configuration.macsPerMicroOp()));
  return report;
}

ScheduleReport simulate(const Operator &op, const Schedule &schedule,
                        const Configuration &configuration, const CycleConstants &constants) {
  if (std::string reason = unsupportedReason(op, schedule, configuration); !reason.empty())
    throw Error(ErrorKind::InvalidArgument, "operator " + inQuotes(op.name) + ": " + reason);
  return simulate(op, OperatorShape(op, configuration), lowerStages(op), schedule, configuration,
                  constants);
}

ScheduleReport simulate(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                        const Schedule &schedule, const Configuration &configuration,
                        const CycleConstants &constants) {
  CommandStream stream(configuration);
  OperatorBuffers buffers = allocateOperands(op, stream);
  allocateConstants(op, shape, stages, false, stream, buffers);
  writeOperator(op, shape, stages, schedule, buffers, stream);
  return reportOf(op, stream.finish(), constants);
}

} // namespace headrace::vta
