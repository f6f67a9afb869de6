// Steps that run depth first, slice by slice.
#include "runtime/program/Slices.h"

#include "runtime/Helpers.h"
#include "runtime/program/Binding.h"
#include "runtime/program/Programs.h"

namespace headrace {
namespace {

using namespace test;

constexpr int64_t size = 120;
const std::vector<KernelFn> kernels = {addOne, addOne, multiply, addOne};

/// The chain with its first three steps in slices.
Program slicedChain(int64_t slices) {
  Program program = chainProgram();
  for (int step : {0, 1, 2}) {
    std::vector<DimExpr> &parameters = program.steps[step].parameters;
    parameters = {number(slices)};
    for (size_t i = 0; i < program.steps[step].operands.size(); ++i)
      parameters.push_back(number(static_cast<int64_t>(i)));
  }
  return program;
}

TEST(Slices, TemporariesInsideHaveMemoryOfOneSlice) {
  int64_t n = size;
  Binding binding = makeHostBinding(slicedChain(4), kernels, {&n, 1});
  ASSERT_EQ(binding.runs.size(), 1U);
  const SlicedRun &run = *binding.runs[0];
  EXPECT_EQ(binding.steps[0].run, &run);
  EXPECT_EQ(run.first, 0U);
  EXPECT_EQ(run.steps(), 3U);
  EXPECT_EQ(run.slices, 4);
  EXPECT_EQ(binding.plan.offsets[1], -1);
  EXPECT_EQ(binding.plan.offsets[2], -1);
  EXPECT_NE(binding.plan.offsets[4], -1);
  EXPECT_LT(run.arenaBytes, 2 * size * 4);
  // Both live at the same time, and each is as long as a slice.
  EXPECT_GE(std::abs(run.operands[1][0].offset - run.operands[1][1].offset), size / 4 * 4);
}

TEST(Slices, StepsRunAsAWholeIfTheirGridHasNoSuchParts) {
  int64_t n = size + 1;
  EXPECT_TRUE(makeHostBinding(slicedChain(4), kernels, {&n, 1}).runs.empty());
}

TEST(Slices, AStepThatNeedsAllOfAResultBeginsAnotherRun) {
  Program program = slicedChain(4);
  program.steps[2].parameters = {number(4), number(0), number(2)};
  int64_t n = size;
  Binding binding = makeHostBinding(program, kernels, {&n, 1});
  ASSERT_EQ(binding.runs.size(), 1U);
  EXPECT_EQ(binding.runs[0]->steps(), 2U);
  EXPECT_NE(binding.plan.offsets[2], -1);
}

TEST(Slices, ResultsAreThoseOfWholeSteps) {
  Tensor x = Tensor::allocate(DType::F32, {size});
  for (int64_t i = 0; i < size; ++i)
    x.as<float>()[i] = static_cast<float>(i);
  for (int64_t slices : {1, 2, 4, 5})
    for (int threads : {1, 2, 3}) {
      Executable executable(slicedChain(slices), ProgramCode{kernels, {}, nullptr});
      ThreadPool pool(threads);
      for (bool isTimed : {false, true}) {
        std::vector<double> microseconds;
        std::vector<Tensor> outputs =
            executable.run({&x, 1}, pool, isTimed ? &microseconds : nullptr);
        for (int64_t i = 0; i < size; ++i) {
          float value = x.as<float>()[i];
          ASSERT_EQ(outputs[0].as<float>()[i], (value + 1) * (value + 2));
        }
      }
    }
}

} // namespace
} // namespace headrace
