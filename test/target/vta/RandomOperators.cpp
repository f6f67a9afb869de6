#include "target/vta/RandomOperators.h"

#include <gtest/gtest.h>

namespace headrace::vta::test {

static int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

int64_t RandomOperators::pick(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

Operator RandomOperators::next() {
  Operator op{"op", {pick(1, 5), pick(1, 70), pick(1, 12), pick(1, 12)}, Cells{DType::I8}, {}};
  switch (pick(0, 5)) {
  case 0:
    op.core = Cells{pick(0, 1) == 0 ? DType::I8 : DType::I32};
    break;
  case 1:
    op.core = pool(op.input);
    break;
  default:
    op.core = convolution(op.input);
  }
  for (int64_t count = pick(0, 5); count > 0; --count)
    op.stages.push_back(stage(op.result().channels));
  op.stages.push_back({AluStage::Op::Max, Immediate{-128}});
  return op;
}

Schedule RandomOperators::schedule(const Operator &op) {
  Image image = op.result();
  for (int attempt = 0; attempt < 1000; ++attempt) {
    Schedule schedule;
    schedule.batch = pick(1, blocks(image.batch, configuration.batch()));
    schedule.rows = pick(1, image.height);
    schedule.columns = pick(1, image.width);
    schedule.out = pick(1, blocks(image.channels, configuration.block()));
    schedule.in = pick(1, blocks(op.input.channels, configuration.block()));
    schedule.threads = pick(1, 2);
    schedule.along = static_cast<Schedule::Along>(pick(0, 4));
    schedule.keep = static_cast<Schedule::Keep>(pick(0, 1));
    if (attempt > 300) // groups allow few blocks
      schedule.out = schedule.in = 1;
    if (unsupportedReason(op, schedule, configuration).empty())
      return schedule;
  }
  ADD_FAILURE() << "no schedule of " << op.name;
  return {};
}

void RandomOperators::slide(Sliding &sliding, int64_t windowY, int64_t windowX) {
  sliding.strideY = pick(1, 3);
  sliding.strideX = pick(1, 3);
  sliding.padTop = pick(0, windowY - 1);
  sliding.padBottom = pick(0, windowY - 1);
  sliding.padLeft = pick(0, windowX - 1);
  sliding.padRight = pick(0, windowX - 1);
}

MaxPool RandomOperators::pool(const Image &input) {
  int64_t windowY = pick(1, std::min<int64_t>(4, input.height)),
          windowX = pick(1, std::min<int64_t>(4, input.width));
  MaxPool core{{}, windowY, windowX};
  slide(core, windowY, windowX);
  return core;
}

Convolution RandomOperators::convolution(Image &input) {
  Convolution core;
  int64_t out = pick(1, 70), windowY = pick(1, std::min<int64_t>(4, input.height)),
          windowX = pick(1, std::min<int64_t>(4, input.width));
  if (pick(0, 2) == 0) {
    core.groups = pick(2, 8);
    int64_t most = core.groups <= 3 ? 50 : 9; // groups that overlap in several blocks
    input.channels = core.groups * pick(1, most);
    out = core.groups * pick(1, most);
  }
  slide(core, windowY, windowX);
  core.weights = randomTensor(DType::I8, {out, input.channels / core.groups, windowY, windowX},
                              random(), -128, 127);
  return core;
}

AluStage RandomOperators::stage(int64_t channels) {
  using Op = AluStage::Op;
  auto op = static_cast<Op>(pick(0, 5));
  if (op == Op::Mul && ++products > 2)
    op = Op::Add;
  bool shifts = op == Op::ShiftRight || op == Op::RoundShiftRight;
  // Large numbers among them, which an instruction has no room for. Rounding wants less than
  // 2^30, so nothing is multiplied by much or often.
  int64_t bound = op == Op::Mul ? 3 : pick(0, 1) == 0 ? 100 : 100000;
  auto number = [&] {
    return static_cast<int32_t>(op == Op::RoundShiftRight ? pick(1, 12)
                                : shifts                  ? pick(0, 12)
                                                          : pick(-bound, bound));
  };
  switch (pick(0, 2)) {
  case 0:
    return {op, Immediate{number()}};
  case 1: {
    PerChannel each;
    for (int64_t c = 0; c < channels; ++c)
      each.values.push_back(number());
    return {op, each};
  }
  default:
    if (shifts || op == Op::Mul)
      op = Op::Add;
    return {op, FromImage{static_cast<size_t>(pick(1, 2)), DType::I8,
                          static_cast<int32_t>(pick(0, 6))}};
  }
}

} // namespace headrace::vta::test
