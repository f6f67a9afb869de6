#include "target/vta/schedule/AluProgram.h"

#include "runtime/vta/CycleModel.h"
#include "target/vta/schedule/ValueRange.h"

#include <algorithm>

namespace headrace::vta {

namespace {

using Op = AluStage::Op;

constexpr int32_t minImmediate = -32768, maxImmediate = 32767;

int32_t wrappingSum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

/// Numbers for channels, or one for all of them.
class ChannelNumbers {
public:
  explicit ChannelNumbers(std::vector<int32_t> numbers) : numbers(std::move(numbers)) {}

  const std::vector<int32_t> &all() const { return numbers; }
  bool areAll(int32_t value) const {
    return std::ranges::all_of(numbers, [&](int32_t n) { return n == value; });
  }
  bool fitInstruction() const {
    return areAll(numbers.front()) && numbers.front() >= minImmediate &&
           numbers.front() <= maxImmediate;
  }
  template <class Function> ChannelNumbers mapped(Function function) const {
    std::vector<int32_t> results;
    for (int32_t number : numbers)
      results.push_back(function(number));
    return ChannelNumbers(std::move(results));
  }

private:
  std::vector<int32_t> numbers;
};

/// A stage whose operand is numbers or an image. Rounding stages have half of their divisor added
/// already.
struct LoweredStage {
  Op op;
  std::optional<ChannelNumbers> numbers;
  FromImage image{};
};

class Lowering {
public:
  explicit Lowering(const Operator &op)
      : channels(static_cast<size_t>(op.result().channels)), range(rangeOfCore(op)) {
    for (const AluStage &stage : op.stages)
      add(stage);
  }

  AluProgram run() {
    for (const LoweredStage &stage : stages)
      lower(stage);
    return std::move(program);
  }

private:
  // --- one list of stages, with sums merged ---------------------------------------------------

  void add(const AluStage &stage) {
    if (const auto *image = std::get_if<FromImage>(&stage.operand)) {
      stages.push_back({stage.op, {}, *image});
      return;
    }
    ChannelNumbers numbers = numbersOf(stage);
    if (stage.op == Op::RoundShiftRight)
      addNumbers(Op::Add, numbers.mapped([](int32_t n) { return int32_t{1} << (n - 1); }));
    addNumbers(stage.op, numbers);
  }

  ChannelNumbers numbersOf(const AluStage &stage) const {
    if (const auto *each = std::get_if<PerChannel>(&stage.operand))
      return ChannelNumbers(each->values);
    return ChannelNumbers(std::vector<int32_t>(channels, std::get<Immediate>(stage.operand).value));
  }

  void addNumbers(Op op, const ChannelNumbers &numbers) {
    if (std::optional<size_t> at = mergeable(op)) {
      std::vector<int32_t> merged = stages[*at].numbers->all();
      for (size_t c = 0; c < merged.size(); ++c)
        merged[c] = merge(op, merged[c], numbers.all()[c]);
      stages[*at].numbers = ChannelNumbers(std::move(merged));
    } else {
      stages.push_back({op, numbers, {}});
    }
  }

  static int32_t merge(Op op, int32_t a, int32_t b) {
    return op == Op::Add ? wrappingSum(a, b) : op == Op::Min ? std::min(a, b) : std::max(a, b);
  }

  // The stage before that does the same with other numbers. Sums wrap, so they may change places
  // with sums of images.
  std::optional<size_t> mergeable(Op op) const {
    if (op != Op::Add && op != Op::Min && op != Op::Max)
      return {};
    for (size_t i = stages.size(); i-- > 0;) {
      if (stages[i].op != op)
        return {};
      if (stages[i].numbers)
        return i;
      if (op != Op::Add)
        return {};
    }
    return {};
  }

  // --- passes ---------------------------------------------------------------------------------

  void lower(const LoweredStage &stage) {
    if (!stage.numbers) {
      program.passes.push_back({AluPass::Kind::Load, AluOp::Add, true,
                                static_cast<int32_t>(stage.image.input), stage.image.type});
      if (stage.image.shift != 0)
        pass(AluOp::Shr, ChannelNumbers(std::vector(channels, -stage.image.shift)), true);
      program.passes.push_back({AluPass::Kind::Beside, aluOpOf(stage.op)});
      range = rangeAfter(stage.op, range, rangeOfImage(stage.image));
      return;
    }
    ValueRange operand = rangeOfNumbers(stage.numbers->all());
    if (!changes(stage, operand))
      return;
    if (stage.op == Op::RoundShiftRight)
      round(*stage.numbers);
    pass(aluOpOf(stage.op), *stage.numbers, false);
    range = rangeAfter(stage.op, range, operand);
  }

  bool changes(const LoweredStage &stage, const ValueRange &operand) const {
    switch (stage.op) {
    case Op::Add:
    case Op::ShiftRight:
      return !stage.numbers->areAll(0);
    case Op::Mul:
      return !stage.numbers->areAll(1);
    case Op::Min:
      return range.most > operand.least;
    case Op::Max:
      return range.least < operand.most;
    case Op::RoundShiftRight:
      return true;
    }
    return true;
  }

  // The results x have 2^(n-1) added, so that rounding down goes to the nearest, and halves up. A
  // half is a multiple of 2^n now: its bit n, subtracted, brings the odd ones down to the even
  // below, and cannot matter elsewhere. Shifted to the sign and back it is minus that bit.
  void round(const ChannelNumbers &amounts) {
    program.passes.push_back({AluPass::Kind::Copy});
    pass(AluOp::Shr, amounts.mapped([](int32_t n) { return n - 31; }), true);
    pass(AluOp::Shr, amounts.mapped([](int32_t) { return 31; }), true);
    program.passes.push_back({AluPass::Kind::Beside, AluOp::Add});
  }

  void pass(AluOp op, const ChannelNumbers &numbers, bool onCopy) {
    if (numbers.fitInstruction()) {
      program.passes.push_back({AluPass::Kind::Immediate, op, onCopy, numbers.all().front()});
      return;
    }
    auto found = std::ranges::find(program.constants, numbers.all());
    auto index = static_cast<int32_t>(found - program.constants.begin());
    if (found == program.constants.end())
      program.constants.push_back(numbers.all());
    program.passes.push_back({AluPass::Kind::Constant, op, onCopy, index});
  }

  static AluOp aluOpOf(Op op) {
    switch (op) {
    case Op::Add:
      return AluOp::Add;
    case Op::Mul:
      return AluOp::Mul;
    case Op::Min:
      return AluOp::Min;
    case Op::Max:
      return AluOp::Max;
    case Op::ShiftRight:
    case Op::RoundShiftRight:
      return AluOp::Shr;
    }
    return AluOp::Add;
  }

  size_t channels;
  ValueRange range;
  std::vector<LoweredStage> stages;
  AluProgram program;
};

} // namespace

bool AluProgram::hasCopy() const {
  return std::ranges::any_of(passes, [](const AluPass &pass) {
    return pass.kind == AluPass::Kind::Copy || pass.kind == AluPass::Kind::Load;
  });
}

double AluProgram::cyclesPerElement(const Configuration &configuration) const {
  CycleConstants constants;
  double cycles = 0;
  auto loaded = [&](DType type) {
    Memory memory = type == DType::I8 ? Memory::Acc8 : Memory::Acc;
    return static_cast<double>(configuration.elementBytes(memory)) /
           static_cast<double>(constants.bytesPerCycle);
  };
  for (const AluPass &pass : passes)
    switch (pass.kind) {
    case AluPass::Kind::Copy: // a reset and a sum
      cycles += static_cast<double>(constants.gemmInterval + constants.aluInterval);
      break;
    case AluPass::Kind::Load:
      cycles += loaded(pass.type);
      break;
    default:
      cycles += static_cast<double>(constants.aluInterval);
    }
  return cycles;
}

AluProgram lowerStages(const Operator &op) { return Lowering(op).run(); }

} // namespace headrace::vta
