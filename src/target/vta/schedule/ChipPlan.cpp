#include "target/vta/schedule/ChipPlan.h"

#include <algorithm>

namespace headrace::vta {

namespace {

int64_t depthOf(Memory memory, const Configuration &configuration) {
  return static_cast<int64_t>(configuration.depth(memory));
}

/// How many slots of this size: those that virtual threads take turns with, or as many as hold all
/// of the `again` parts that come again and, for two threads, those that follow them.
Slots slotsFor(int64_t size, int64_t depth, int64_t again, int64_t threads) {
  int64_t fitting = depth / std::max<int64_t>(1, size);
  if (fitting < again)
    return {size, threads};
  return {size, std::max(threads, std::min(fitting, again * threads))};
}

} // namespace

int64_t usableAcc(const OperatorShape &shape, const AluProgram &stages,
                  const Configuration &configuration) {
  bool hasOperands = shape.pools || std::ranges::any_of(stages.passes, [](const AluPass &pass) {
                       return pass.kind != AluPass::Kind::Immediate;
                     });
  int64_t depth = depthOf(Memory::Acc, configuration);
  return hasOperands ? std::min(depth, depthOf(Memory::Inp, configuration)) : depth;
}

ChipPlan::ChipPlan(const OperatorShape &shape, const AluProgram &stages, const Schedule &schedule,
                   const Configuration &configuration) {
  int64_t steps = dividedUp(shape.depth, schedule.in);
  int64_t spots = dividedUp(shape.batch, schedule.batch) * dividedUp(shape.height, schedule.rows) *
                  dividedUp(shape.width, schedule.columns);
  int64_t outs = 0;
  for (const Family &family : shape.families)
    outs += dividedUp(family.end - family.begin, schedule.out);
  int64_t area = shape.inputRows(schedule.rows) * shape.inputColumns(schedule.columns);
  bool keepsWeights = schedule.keep == Schedule::Keep::Weights;
  if (shape.multiplies) {
    inputs =
        slotsFor(schedule.batch * schedule.in * area, depthOf(Memory::Inp, configuration),
                 keepsWeights ? spots * steps * static_cast<int64_t>(shape.families.size()) : steps,
                 schedule.threads);
    weights =
        slotsFor(schedule.out * schedule.in * shape.window(), depthOf(Memory::Wgt, configuration),
                 keepsWeights ? steps : outs * steps, schedule.threads);
  }
  auto kinds = static_cast<int64_t>(stages.constants.size());
  constantsStay = kinds * shape.out * 8 <= depthOf(Memory::Acc, configuration);
  constantBlocks = constantsStay ? shape.out : schedule.out;
  copyAt = kinds * constantBlocks;
  int64_t tile = schedule.batch * schedule.rows * schedule.columns * schedule.out;
  sourceAt = copyAt + (stages.hasCopy() ? tile : 0);
  int64_t source = shape.pools
                       ? schedule.batch * schedule.out *
                             std::min(shape.inputRows(schedule.rows), shape.inputHeight) *
                             std::min(shape.inputColumns(schedule.columns), shape.inputWidth)
                       : 0;
  results = {tile, schedule.threads, sourceAt + source};
}

} // namespace headrace::vta
