// Steps that run at the same time.
#include "runtime/program/SideBySide.h"

#include "runtime/Helpers.h"
#include "runtime/program/Programs.h"

namespace headrace {
namespace {

using namespace test;

/// The kernels of the chain as ones that threads have nothing to share of.
template <KernelFn kernel>
int64_t alone(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end,
              void *workspace) {
  if (begin < end)
    kernel(buffers, symbols, 0, symbols[0], workspace);
  return 1;
}

/// y = (x + 2) * (x + 1) through t = x + 1, a = t + 1 and b = x + 1; b could be where t did.
Program forkedProgram() {
  DimExpr n = DimExpr::symbol(0), bytes = n * number(4);
  Program program;
  program.name = "fork";
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"x", DType::F32, {n}}};
  program.outputs = {{"y", DType::F32, {n}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, bytes),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 0, 1),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 1, 3),
                     buffer(BufferInfo::Kind::Temporary, 0, bytes, 2, 3),
                     buffer(BufferInfo::Kind::Output, 0, bytes)};
  program.steps = {kernelStep("t", {0, 1}, n), kernelStep("a", {1, 2}, n),
                   kernelStep("b", {0, 3}, n), kernelStep("y", {2, 3, 4}, n)};
  return program;
}

const std::vector<KernelFn> forkedKernels = {alone<addOne>, alone<addOne>, alone<addOne>,
                                             alone<multiply>};
constexpr int64_t large = 100'000;

std::vector<size_t> together(const Binding &binding) {
  std::vector<size_t> counts;
  for (const Binding::StepFacts &step : binding.steps)
    counts.push_back(step.together);
  return counts;
}

TEST(SideBySide, NeighboursThatTakeNothingFromEachOther) {
  int64_t n = large;
  Binding binding = makeHostBinding(forkedProgram(), forkedKernels, {&n, 1});
  EXPECT_EQ(together(binding), (std::vector<size_t>{1, 2, 1, 1}));
}

TEST(SideBySide, TheirMemoryLiesApart) {
  int64_t n = large;
  Program program = forkedProgram();
  Binding binding = makeHostBinding(program, forkedKernels, {&n, 1});
  MemoryPlan inOrder = planTemporaries(program, {&n, 1});
  EXPECT_EQ(inOrder.offsets[1], inOrder.offsets[3]);
  EXPECT_NE(binding.plan.offsets[1], binding.plan.offsets[3]);
}

TEST(SideBySide, EqualsWaitForWhatOneOfThemNeeds) {
  // t could run next to a, which would leave b, the step as long as a, alone.
  Program program = forkedProgram();
  program.steps[1].operands = {0, 2};
  program.steps[2].operands = {1, 3};
  program.buffers[1].lastStep = 2;
  std::vector<double> work = {3e6, 2e6, 2e6, 1e6};
  std::vector<Binding::StepFacts> steps(4);
  for (Binding::StepFacts &step : steps)
    step.grid = step.grain = 1;
  EXPECT_TRUE(findSideBySide(program, work, steps));
  EXPECT_EQ(steps[0].together, 1U);
  EXPECT_EQ(steps[1].together, 2U);
  EXPECT_EQ(steps[3].together, 1U);
}

TEST(SideBySide, NotWhereThereIsLittleToDo) {
  int64_t n = 10;
  Binding binding = makeHostBinding(forkedProgram(), forkedKernels, {&n, 1});
  EXPECT_EQ(together(binding), (std::vector<size_t>{1, 1, 1, 1}));
}

TEST(SideBySide, NotWhereThreadsShareAStep) {
  int64_t n = large;
  std::vector<KernelFn> shared = {addOne, addOne, addOne, multiply};
  Binding binding = makeHostBinding(forkedProgram(), shared, {&n, 1});
  EXPECT_EQ(together(binding), (std::vector<size_t>{1, 1, 1, 1}));
}

TEST(SideBySide, ResultsAreThoseOfOneThread) {
  Executable executable(forkedProgram(), ProgramCode{forkedKernels, {}, nullptr});
  Tensor x = Tensor::allocate(DType::F32, {large});
  for (int64_t i = 0; i < large; ++i)
    x.as<float>()[i] = static_cast<float>(i % 100);
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (int call = 0; call < 20; ++call) {
      std::vector<Tensor> outputs = executable.run({&x, 1}, pool);
      for (int64_t i = 0; i < large; ++i) {
        float value = x.as<float>()[i];
        ASSERT_EQ(outputs[0].as<float>()[i], (value + 2) * (value + 1));
      }
    }
  }
}

} // namespace
} // namespace headrace
