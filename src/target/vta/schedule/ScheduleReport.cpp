#include "target/vta/schedule/ScheduleReport.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"
#include "target/vta/schedule/write/OperatorWriter.h"

#include <algorithm>

namespace headrace::vta {

namespace {

// The buffers that the operator reads and writes, of zeros.
OperatorBuffers allocateBuffers(const Operator &op, CommandStream &stream) {
  auto allocate = [&](std::string name, Role role, DType type, const Image &image) {
    return stream.allocate(std::move(name), role, type,
                           {image.batch, image.channels, image.height, image.width},
                           layoutOf(image, stream.configuration()));
  };
  const auto *cells = std::get_if<Cells>(&op.core);
  OperatorBuffers buffers;
  buffers.inputs.push_back(allocate("x", Role::Input, cells ? cells->input : DType::I8, op.input));
  for (const AluStage &stage : op.stages)
    if (const auto *image = std::get_if<FromImage>(&stage.operand)) {
      buffers.inputs.resize(std::max(buffers.inputs.size(), image->input + 1));
      size_t &buffer = buffers.inputs[image->input];
      if (buffer == 0)
        buffer =
            allocate("x" + std::to_string(image->input), Role::Input, image->type, op.result());
    }
  buffers.result = allocate("y", Role::Output, DType::I8, op.result());
  return buffers;
}

} // namespace

ScheduleReport simulate(const Operator &op, const Schedule &schedule,
                        const Configuration &configuration, const CycleConstants &constants) {
  if (std::string reason = whyNot(op, schedule, configuration); !reason.empty())
    throw Error(ErrorKind::InvalidArgument, "operator " + inQuotes(op.name) + ": " + reason);
  return simulate(op, OperatorShape(op, configuration), lowerStages(op), schedule, configuration,
                  constants);
}

ScheduleReport simulate(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                        const Schedule &schedule, const Configuration &configuration,
                        const CycleConstants &constants) {
  CommandStream stream(configuration);
  OperatorBuffers buffers = allocateBuffers(op, stream);
  allocateConstants(op, shape, stages, false, stream, buffers);
  writeOperator(op, shape, stages, schedule, buffers, stream);
  Simulation simulation = estimate(stream.finish(), constants);
  if (simulation.fault)
    throw Error(ErrorKind::InvalidArgument,
                "operator " + inQuotes(op.name) + ": " + simulation.fault->what());
  ScheduleReport report{simulation.cycles, 0, simulation.modules, simulation.work};
  report.peakShare =
      static_cast<double>(op.macs()) /
      (static_cast<double>(report.cycles) * static_cast<double>(configuration.macsPerMicroOp()));
  return report;
}

} // namespace headrace::vta
