#include "target/vta/schedule/LegalSchedule.h"

#include "runtime/system/Text.h"
#include "target/vta/schedule/ChipPlan.h"

#include <algorithm>

namespace headrace::vta {

namespace {

/// Iterations of an instruction's loop.
constexpr int64_t maxIterations = (1 << 14) - 1;
/// Elements of a row that a load moves.
constexpr int64_t maxColumns = (1 << 16) - 1;
/// Zeros that a load adds on a side.
constexpr int64_t maxPadding = 15;

std::string number(int64_t value) { return std::to_string(value); }

std::string unsupportedImageReason(const Image &image) {
  for (auto [name, size] : {std::pair("batch", image.batch),
                            {"channels", image.channels},
                            {"height", image.height},
                            {"width", image.width}})
    if (size < 1)
      return "the input's " + std::string(name) + " is " + number(size) + ", expected 1 or more";
  return "";
}

std::string unsupportedWindowsReason(const Sliding &core, const Image &input, int64_t windowY,
                                     int64_t windowX) {
  if (windowY < 1 || windowX < 1 || core.strideY < 1 || core.strideX < 1)
    return "windows of " + number(windowY) + "x" + number(windowX) + ", " + number(core.strideY) +
           " and " + number(core.strideX) + " apart, expected 1 or more";
  for (auto [pad, window] : {std::pair(core.padTop, windowY),
                             {core.padBottom, windowY},
                             {core.padLeft, windowX},
                             {core.padRight, windowX}}) {
    if (pad < 0)
      return "a padding of " + number(pad) + ", expected 0 or more";
    if (pad >= window)
      return "with a padding of " + number(pad) + ", a window of " + number(window) +
             " covers only padding";
  }
  if (input.height + core.padTop + core.padBottom < windowY ||
      input.width + core.padLeft + core.padRight < windowX)
    return "a window of " + number(windowY) + "x" + number(windowX) + " is larger than the image";
  return "";
}

std::string unsupportedConvolutionReason(const Operator &op, const Convolution &core) {
  if (!core.weights || core.weights.dtype() != DType::I8 || core.weights.shape().size() != 4)
    return "expected 8-bit weights in four dimensions";
  const Shape &weights = core.weights.shape();
  if (core.groups < 1 || weights[0] < 1 || weights[1] < 1 || weights[0] % core.groups != 0 ||
      weights[1] * core.groups != op.input.channels)
    return "weights of " + shapeString(weights) + " do not fit " + number(op.input.channels) +
           " channels in " + number(core.groups) + " groups";
  for (int64_t pad : {core.padTop, core.padBottom, core.padLeft, core.padRight})
    if (pad > maxPadding)
      return "a padding of " + number(pad) + ", a load makes at most " + number(maxPadding);
  return unsupportedWindowsReason(core, op.input, weights[2], weights[3]);
}

std::string unsupportedCoreReason(const Operator &op) {
  if (const auto *convolution = std::get_if<Convolution>(&op.core))
    return unsupportedConvolutionReason(op, *convolution);
  if (const auto *pool = std::get_if<MaxPool>(&op.core))
    return unsupportedWindowsReason(*pool, op.input, pool->windowY, pool->windowX);
  DType type = std::get<Cells>(op.core).input;
  return type == DType::I8 || type == DType::I32 ? "" : "elements have neither 8 nor 32 bits";
}

std::string unsupportedStageReason(const AluStage &stage, int64_t channels) {
  if (const auto *image = std::get_if<FromImage>(&stage.operand)) {
    if (image->input < 1)
      return "reads input 0, which the operator itself reads";
    if (image->type != DType::I8 && image->type != DType::I32)
      return "reads elements of neither 8 nor 32 bits";
    if (image->shift < 0 || image->shift > 31)
      return "shifts an input left by " + number(image->shift) + ", expected 0 to 31";
    return stage.op == AluStage::Op::RoundShiftRight ? "rounds by amounts from an input" : "";
  }
  std::vector<int32_t> numbers;
  if (const auto *each = std::get_if<PerChannel>(&stage.operand))
    numbers = each->values;
  else
    numbers.assign(static_cast<size_t>(channels), std::get<Immediate>(stage.operand).value);
  if (static_cast<int64_t>(numbers.size()) != channels)
    return "has " + number(static_cast<int64_t>(numbers.size())) + " numbers for " +
           number(channels) + " channels";
  for (int32_t amount : numbers)
    if (stage.op == AluStage::Op::RoundShiftRight && (amount < 1 || amount > 31))
      return "rounds by " + number(amount) + " bits, expected 1 to 31";
  return "";
}

std::string unsupportedDataReason(const Operator &op, const Configuration &configuration) {
  if (configuration.logInpWidth != 3 || configuration.logWgtWidth != 3)
    return "the accelerator's inputs and weights do not have 8 bits";
  if (std::string reason = unsupportedImageReason(op.input); !reason.empty())
    return reason;
  if (std::string reason = unsupportedCoreReason(op); !reason.empty())
    return reason;
  for (size_t i = 0; i < op.stages.size(); ++i)
    if (std::string reason = unsupportedStageReason(op.stages[i], op.result().channels);
        !reason.empty())
      return "stage " + std::to_string(i) + " " + reason;
  return "";
}

std::string tileName(const Schedule &schedule, int64_t channels) {
  std::string name = "a tile of " + number(schedule.rows) + " x " + number(schedule.columns) +
                     " x " + number(channels);
  return schedule.batch > 1 ? name + " of " + number(schedule.batch) + " images" : name;
}

std::string unsupportedInReason(Memory memory, const std::string &what, int64_t elements,
                                int64_t depth, int64_t threads) {
  if (elements * threads <= depth)
    return "";
  return what + " takes " + number(elements) + " elements of " + std::string(nameOf(memory)) +
         ", " + (threads > 1 ? "a virtual thread has " : "there are ") + number(depth / threads);
}

std::string unsupportedSizesReason(const OperatorShape &shape, const Schedule &schedule) {
  for (auto [name, size, most] : {std::tuple("batch", schedule.batch, shape.batch),
                                  {"rows", schedule.rows, shape.height},
                                  {"columns", schedule.columns, shape.width},
                                  {"out", schedule.out, shape.largestFamily},
                                  {"in", schedule.in, shape.depth}})
    if (size < 1 || size > most)
      return std::string(name) + "=" + number(size) + ", expected 1 to " + number(most);
  if (schedule.threads != 1 && schedule.threads != 2)
    return number(schedule.threads) + " virtual threads, expected 1 or 2";
  return "";
}

std::string unsupportedThreadsReason(const OperatorShape &shape, const Schedule &schedule) {
  if (schedule.threads == 1)
    return "";
  int64_t tiles = 2;
  switch (schedule.along) {
  case Schedule::Along::In:
    return "";
  case Schedule::Along::Out:
    tiles = dividedUp(shape.largestFamily, schedule.out);
    break;
  case Schedule::Along::Batch:
    tiles = dividedUp(shape.batch, schedule.batch);
    break;
  case Schedule::Along::Rows:
    tiles = dividedUp(shape.height, schedule.rows);
    break;
  case Schedule::Along::Columns:
    tiles = dividedUp(shape.width, schedule.columns);
    break;
  }
  return tiles < 2 ? "two virtual threads have one tile along their loop" : "";
}

std::string unsupportedMemoriesReason(const OperatorShape &shape, const AluProgram &stages,
                                      const Schedule &schedule,
                                      const Configuration &configuration) {
  ChipPlan plan(shape, stages, schedule, configuration);
  int64_t threads = schedule.threads;
  auto depth = [&](Memory memory) {
    return std::min(static_cast<int64_t>(configuration.depth(memory)), maxColumns);
  };
  if (shape.multiplies) {
    if (std::string reason = unsupportedInReason(Memory::Inp, tileName(schedule, schedule.in),
                                                 plan.inputs.size, depth(Memory::Inp), threads);
        !reason.empty())
      return reason;
    if (std::string reason = unsupportedInReason(Memory::Wgt,
                                                 "a tile of " + number(schedule.out) + " x " +
                                                     number(schedule.in) + " blocks of channels",
                                                 plan.weights.size, depth(Memory::Wgt), threads);
        !reason.empty())
      return reason;
  }
  int64_t tile = plan.results.size, rest = plan.results.first;
  if (tile > maxIterations)
    return tileName(schedule, schedule.out) + " has " + number(tile) +
           " elements, a loop has at most " + number(maxIterations);
  std::string what = tileName(schedule, schedule.out);
  if (rest > 0)
    what += ", next to " + number(rest) + " elements of constants and copies,";
  return unsupportedInReason(Memory::Acc, what, tile,
                             std::max<int64_t>(0, usableAcc(shape, stages, configuration) - rest),
                             threads);
}

// The loops of an instruction are two: the others are written out in micro-ops.
std::string unsupportedMicroOpsReason(const OperatorShape &shape, const Schedule &schedule,
                                      const Configuration &configuration) {
  std::vector<int64_t> loops = {schedule.batch, schedule.rows, schedule.columns, schedule.out,
                                schedule.in,    shape.windowY, shape.windowX};
  std::ranges::sort(loops);
  int64_t body = 1;
  for (size_t i = 0; i + 2 < loops.size(); ++i)
    body *= loops[i];
  auto depth = static_cast<int64_t>(configuration.depth(Memory::Uop));
  return body <= depth ? ""
                       : tileName(schedule, schedule.out) + " takes " + number(body) +
                             " micro-ops, their buffer has " + number(depth);
}

} // namespace

std::string unsupportedReason(const Operator &op, const Schedule &schedule,
                              const Configuration &configuration) {
  if (std::string reason = unsupportedDataReason(op, configuration); !reason.empty())
    return reason;
  return unsupportedReason(OperatorShape(op, configuration), lowerStages(op), schedule,
                           configuration);
}

std::string unsupportedReason(const OperatorShape &shape, const AluProgram &stages,
                              const Schedule &schedule, const Configuration &configuration) {
  if (std::string reason = unsupportedSizesReason(shape, schedule); !reason.empty())
    return reason;
  if (std::string reason = unsupportedThreadsReason(shape, schedule); !reason.empty())
    return reason;
  if (std::string reason = unsupportedMemoriesReason(shape, stages, schedule, configuration);
      !reason.empty())
    return reason;
  return unsupportedMicroOpsReason(shape, schedule, configuration);
}

std::string unsupportedReason(const Operator &op, const Configuration &configuration) {
  return unsupportedReason(op, Schedule{}, configuration); // nothing takes less room
}

} // namespace headrace::vta
