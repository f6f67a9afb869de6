// Results of the programs, in every configuration and order of modules.
#include "runtime/vta/Programs.h"

#include "runtime/Helpers.h"
#include "runtime/vta/Simulator.h"

#include <cstring>

namespace headrace::vta {
namespace {

using namespace test;

Tensor outputOf(const Program &program, const Simulation &simulation) {
  const Buffer &y = program.buffer("y");
  return unpack(std::span(simulation.dram).subspan(y.offset, y.bytes), y.dtype, y.shape, y.layout);
}

bool equal(const Tensor &a, const Tensor &b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// Cycles are never fewer than the work and the ports allow.
void expectPossible(const Program &program, const Simulation &simulation) {
  EXPECT_GE(simulation.cycles * program.configuration.macsPerMicroOp(), simulation.work.macs);
  EXPECT_GE(simulation.cycles * 8, simulation.work.bytesRead());
  EXPECT_GE(simulation.cycles * 8, simulation.work.bytesWritten());
  for (const ModuleUse &use : simulation.modules)
    EXPECT_EQ(use.busy + use.stalled() + use.idle, simulation.cycles);
}

class VtaPrograms : public testing::TestWithParam<std::string> {
protected:
  Configuration configuration = exampleConfiguration(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Configurations, VtaPrograms, testing::ValuesIn(exampleNames()));

TEST_P(VtaPrograms, ComputeWhatTheyShould) {
  for (const TestProgram &item : smallPrograms(configuration)) {
    SCOPED_TRACE(item.name);
    Simulation simulation = simulate(item.program);
    ASSERT_FALSE(simulation.fault) << simulation.fault->what();
    EXPECT_TRUE(equal(outputOf(item.program, simulation), item.expected));
    expectPossible(item.program, simulation);
    for (uint64_t seed : {1, 2}) {
      Simulation other = simulate(item.program, {seed, {}});
      ASSERT_FALSE(other.fault) << other.fault->what();
      EXPECT_EQ(other.dram, simulation.dram);
      EXPECT_EQ(other.cycles, simulation.cycles);
    }
  }
}

// 256 x 256 x 256: the loops are found, or the micro-op buffer overflows again and again.
TEST_P(VtaPrograms, CompressionSavesMicroOps) {
  TestProgram loops = denseProgram(configuration, {256, 256, 256, 1, true});
  TestProgram flat = denseProgram(configuration, {256, 256, 256, 1, false});
  Simulation fast = simulate(loops.program), slow = simulate(flat.program);
  ASSERT_FALSE(fast.fault || slow.fault);
  EXPECT_TRUE(equal(outputOf(loops.program, fast), loops.expected));
  EXPECT_TRUE(equal(outputOf(flat.program, slow), flat.expected));
  EXPECT_LT(loops.program.microOps.size() * 10, flat.program.microOps.size());
  EXPECT_GT(flat.program.microOps.size(), configuration.depth(Memory::Uop));
  EXPECT_LT(fast.cycles, slow.cycles);
  EXPECT_EQ(fast.work.macs, slow.work.macs);
}

TEST_P(VtaPrograms, TwoVirtualThreadsHideTransfers) {
  TestProgram one = convolutionProgram(configuration, {28, 64, 64, 3, 1, 1});
  TestProgram two = convolutionProgram(configuration, {28, 64, 64, 3, 1, 2});
  Simulation alternating = simulate(one.program), overlapping = simulate(two.program);
  ASSERT_FALSE(alternating.fault || overlapping.fault);
  EXPECT_TRUE(equal(outputOf(one.program, alternating), one.expected));
  EXPECT_TRUE(equal(outputOf(two.program, overlapping), two.expected));
  EXPECT_LT(overlapping.cycles, alternating.cycles);
}

// 16-bit numbers, and a block of one: every width follows from the configuration.
TEST(VtaWidths, SixteenBitInputsAndWeights) {
  Configuration wide;
  wide.logInpWidth = wide.logWgtWidth = 4;
  wide.logInpBuffer = 16;
  CommandStream stream(Configuration::parse(wide.json(), "wide"));
  std::array<int64_t, 2> row = {1, 16}, square = {16, 16};
  Tensor a = Tensor::allocate(DType::I16, {1, 16}), w = Tensor::allocate(DType::I16, {16, 16});
  for (int64_t i = 0; i < 256; ++i)
    w.as<int16_t>()[i] = static_cast<int16_t>(i % 2 ? -32768 : 300 - i);
  for (int64_t i = 0; i < 16; ++i)
    a.as<int16_t>()[i] = static_cast<int16_t>(-32768 + 7 * i);
  size_t aBuffer = stream.allocate("a", Role::Input, DType::I16, {1, 16}, blockedLayout(row));
  size_t wBuffer = stream.allocate("w", Role::Weight, DType::I16, {16, 16}, blockedLayout(square));
  size_t yBuffer = stream.allocate("y", Role::Output, DType::I16, {1, 16}, blockedLayout(row));
  stream.fill(aBuffer, a);
  stream.fill(wBuffer, w);
  stream.load(Memory::Inp, 0, {aBuffer});
  stream.load(Memory::Wgt, 0, {wBuffer});
  stream.push(Module::Load, Module::Compute);
  MicroCode clear = MicroCode::reset(), multiply = MicroCode::gemm();
  clear.add(0);
  multiply.add(0);
  stream.run(clear);
  stream.pop(Module::Load, Module::Compute);
  stream.run(multiply);
  stream.push(Module::Compute, Module::Store);
  stream.pop(Module::Compute, Module::Store);
  stream.store({yBuffer}, 0);
  Program program = stream.finish();
  Simulation simulation = simulate(program);
  ASSERT_FALSE(simulation.fault) << simulation.fault->what();
  Tensor y = outputOf(program, simulation);
  for (int64_t o = 0; o < 16; ++o) {
    int64_t sum = 0;
    for (int64_t k = 0; k < 16; ++k)
      sum += int64_t{a.as<int16_t>()[k]} * w.as<int16_t>()[o * 16 + k];
    EXPECT_EQ(y.as<int16_t>()[o], static_cast<int16_t>(sum)) << o;
  }
}

// A shift by more than the width leaves the sign, or nothing.
TEST(VtaAlu, ShiftsByAnyAmount) {
  for (auto [amount, expected] :
       {std::pair(40, 0), {-40, 0}, {-31, 0}, {31, 0}, {-2, 20}, {1, 2}}) {
    CommandStream stream({});
    std::array<int64_t, 2> row = {1, 16};
    size_t x = stream.allocate("x", Role::Input, DType::I32, {1, 16}, blockedLayout(row));
    size_t y = stream.allocate("y", Role::Output, DType::I8, {1, 16}, blockedLayout(row));
    Tensor five = Tensor::allocate(DType::I32, {1, 16});
    std::fill_n(five.as<int32_t>(), 16, 5);
    five.as<int32_t>()[1] = -5;
    stream.fill(x, five);
    stream.load(Memory::Acc, 0, {x});
    MicroCode code = MicroCode::alu(AluOp::Shr, amount);
    code.add(0);
    stream.run(code);
    stream.push(Module::Compute, Module::Store);
    stream.pop(Module::Compute, Module::Store);
    stream.store({y}, 0);
    Program program = stream.finish();
    Tensor result = outputOf(program, simulate(program));
    EXPECT_EQ(result.as<int8_t>()[0], expected) << amount;
    int below = amount >= 31 ? -1 : amount == 1 ? -3 : -expected;
    EXPECT_EQ(result.as<int8_t>()[1], below) << amount;
  }
}

} // namespace
} // namespace headrace::vta
