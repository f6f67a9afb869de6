// Stages: rounding to even, what is merged or left out, immediates of any size.
#include "target/vta/Reference.h"
#include "target/vta/schedule/AluProgram.h"

#include <cmath>
#include <gtest/gtest.h>

namespace headrace::vta {
namespace {

using namespace test;
using Op = AluStage::Op;

// The passes as the ALU does them, on a number.
int32_t run(const AluProgram &program, int32_t result) {
  int32_t copy = 0;
  for (const AluPass &pass : program.passes) {
    int32_t &target = pass.onCopy ? copy : result;
    switch (pass.kind) {
    case AluPass::Kind::Immediate:
      target = applied(pass.op, target, pass.value);
      break;
    case AluPass::Kind::Constant:
      target = applied(pass.op, target, program.constants[static_cast<size_t>(pass.value)][0]);
      break;
    case AluPass::Kind::Beside:
      result = applied(pass.op, result, copy);
      break;
    case AluPass::Kind::Copy:
      copy = result;
      break;
    case AluPass::Kind::Load:
      ADD_FAILURE() << "nothing to load";
    }
  }
  return result;
}

Operator cells(std::vector<AluStage> stages, DType type = DType::I32) {
  return {"cells", {1, 16, 1, 1}, Cells{type}, std::move(stages)};
}

// Bit n of x + 2^(n-1), and whether the bits below are zeros, decide: every residue of 2^(n+1), at
// zero and at both ends of what is allowed.
TEST(VtaStages, RoundingIsToEvenForEveryAmountAndResidue) {
  for (int n = 1; n <= 31; ++n) {
    AluProgram program = lowerStages(cells({{Op::RoundShiftRight, Immediate{n}}}));
    int64_t bound = int64_t{1} << 30, period = int64_t{1} << std::min(n + 1, 31);
    auto check = [&](int64_t value) {
      if (value <= -bound || value >= bound)
        return true;
      auto expected =
          static_cast<int32_t>(std::nearbyint(std::ldexp(static_cast<double>(value), -n)));
      int32_t found = run(program, static_cast<int32_t>(value));
      EXPECT_EQ(found, expected) << value << " by " << n;
      return found == expected;
    };
    for (int64_t base : {int64_t{0}, -period, bound - period, -bound}) {
      // All residues of small periods; of large ones those around every place where rounding turns.
      if (period <= 1 << 14) {
        for (int64_t r = 0; r < period; ++r)
          ASSERT_TRUE(check(base + r));
      } else {
        for (int64_t turn = 0; turn <= 4; ++turn)
          for (int64_t r = -2000; r <= 2000; ++r)
            ASSERT_TRUE(check(base + turn * (period / 4) + r));
      }
    }
  }
}

TEST(VtaStages, RoundingOnTheChipIsToEven) {
  for (int64_t amount : {1, 2, 7, 20, 31}) {
    Operator op{"round",
                {1, 40, 3, 5},
                Cells{DType::I32},
                {{Op::RoundShiftRight, Immediate{static_cast<int32_t>(amount)}}}};
    expectRight(op, propose(op, {}), {});
  }
}

TEST(VtaStages, HalfOfTheDivisorIsAddedWithTheBias) {
  PerChannel bias{std::vector<int32_t>(16, 5)};
  bias.values[3] = -7;
  AluProgram apart = lowerStages(cells({{Op::RoundShiftRight, Immediate{4}}}));
  AluProgram together = lowerStages(cells({{Op::Add, bias}, {Op::RoundShiftRight, Immediate{4}}}));
  EXPECT_EQ(together.passes.size(), apart.passes.size());
  ASSERT_EQ(together.constants.size(), 1u);
  EXPECT_EQ(together.constants[0][0], 13);
  EXPECT_EQ(together.constants[0][3], 1);
}

TEST(VtaStages, WhatCannotChangeAResultIsLeftOut) {
  auto passes = [](std::vector<AluStage> stages, DType type) {
    return lowerStages(cells(std::move(stages), type)).passes.size();
  };
  AluStage relu{Op::Max, Immediate{0}}, low{Op::Max, Immediate{-128}},
      high{Op::Min, Immediate{127}};
  EXPECT_EQ(passes({low, high}, DType::I32), 2u);
  EXPECT_EQ(passes({low, high}, DType::I8), 0u);
  EXPECT_EQ(passes({relu, high, low}, DType::I32), 2u); // a relu is clip's lower bound
  EXPECT_EQ(passes({high, low, relu}, DType::I32), 2u);
  EXPECT_EQ(passes({{Op::Add, Immediate{3}}, {Op::Add, Immediate{-3}}}, DType::I32), 0u);
  EXPECT_EQ(passes({{Op::Mul, Immediate{1}}, {Op::ShiftRight, Immediate{0}}}, DType::I32), 0u);
  EXPECT_EQ(passes({{Op::ShiftRight, Immediate{24}}, low, high}, DType::I32), 1u);
  // A sum may wrap: its bounds say nothing then.
  EXPECT_EQ(passes({{Op::Add, Immediate{1}}, {Op::Max, Immediate{-2147483647}}}, DType::I32), 2u);
}

TEST(VtaStages, ImmediatesBeyond16BitsBecomeConstants) {
  for (int32_t value : {32767, 32768, -32768, -32769, 2147483647, -2147483647 - 1}) {
    AluProgram program = lowerStages(cells({{Op::Add, Immediate{value}}}));
    EXPECT_EQ(program.constants.empty(), value == 32767 || value == -32768) << value;
    EXPECT_EQ(run(program, 7), static_cast<int32_t>(uint32_t{7} + static_cast<uint32_t>(value)));
    Operator op{"add",
                {1, 20, 2, 2},
                Cells{DType::I32},
                {{Op::Add, Immediate{value}}, {Op::ShiftRight, Immediate{16}}}};
    expectRight(op, propose(op, {}), {});
  }
}

TEST(VtaStages, ResidualsAreShiftedBeforeTheyAreAdded) {
  Operator op = convolutionOf({6, 20, 20, 3, 1}, 1);
  op.stages.insert(op.stages.begin(), {Op::Add, FromImage{1, DType::I8, 5}});
  op.stages.push_back({Op::Add, FromImage{2, DType::I32, 0}});
  for (int64_t threads : {1, 2})
    expectRight(op, propose(op, {}, threads), {});
}

// Zeros around the image would be larger than its numbers.
TEST(VtaStages, PaddingOfAPoolingCountsForNothing) {
  Operator op{"pool", {1, 16, 5, 5}, MaxPool{{2, 2, 1, 1, 1, 1}, 3, 3}, {}};
  Tensor x = randomTensor(DType::I8, {1, 16, 5, 5}, 3, -128, -100);
  Program program = programOf(op, propose(op, {}), {}, {x});
  Simulation simulation = simulate(program);
  ASSERT_FALSE(simulation.fault) << simulation.fault->what();
  Tensor y = outputOf(program, simulation);
  for (int64_t i = 0; i < y.elements(); ++i)
    EXPECT_LT(y.as<int8_t>()[i], -99);
}

} // namespace
} // namespace headrace::vta
