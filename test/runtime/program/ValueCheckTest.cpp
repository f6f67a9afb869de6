#include "runtime/program/ValueCheck.h"

#include "runtime/Helpers.h"
#include "runtime/program/Executable.h"
#include "runtime/program/Programs.h"

#include <limits>
#include <random>

namespace headrace {
namespace {

using namespace test;

ValueCheck indexCheck(int64_t low, int64_t high) {
  return {ValueCheck::Kind::Index, "node 'embed' (Gather)", low, high, std::nullopt};
}

template <class T>
std::optional<Violation> violationOf(const ValueCheck &check, DType type,
                                     const std::vector<T> &values, ThreadPool *pool = nullptr) {
  return firstViolation(check, type, values.data(), static_cast<int64_t>(values.size()), pool);
}

template <class T> void testType(DType type) {
  using Limits = std::numeric_limits<T>;
  constexpr bool isSigned = Limits::is_signed;
  int64_t low = isSigned ? -7 : 0;
  ValueCheck range = indexCheck(low, 9);
  ValueCheck divisor{ValueCheck::Kind::Divisor, "node", 0, 0, std::nullopt};
  std::vector<T> good = {0, 8, static_cast<T>(low), 1, 2, 3, 4, 5, 6, 7};
  for (size_t size : {size_t{0}, size_t{1}, size_t{10}, size_t{5000}}) {
    std::vector<T> values(size), ones(size, 1);
    for (size_t i = 0; i < size; ++i)
      values[i] = good[i % good.size()];
    EXPECT_FALSE(violationOf(range, type, values));
    EXPECT_FALSE(violationOf(divisor, type, ones));
    if (size == 0)
      continue;
    for (T bad : {T{9}, static_cast<T>(low - 1), Limits::min(), Limits::max()}) {
      if (range.allows(static_cast<int64_t>(bad)))
        continue;
      for (size_t at : {size_t{0}, size / 2, size - 1}) {
        std::vector<T> broken = values;
        broken[at] = broken[size - 1] = bad;
        auto found = violationOf(range, type, broken);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->position, static_cast<int64_t>(at));
        EXPECT_EQ(found->value, static_cast<int64_t>(bad));
      }
    }
    ones.front() = Limits::min() == 0 ? Limits::max() : Limits::min();
    EXPECT_FALSE(violationOf(divisor, type, ones));
    ones.back() = 0;
    ASSERT_TRUE(violationOf(divisor, type, ones));
    EXPECT_EQ(violationOf(divisor, type, ones)->position, static_cast<int64_t>(size) - 1);
  }
}

TEST(ValueCheck, FindsTheFirstOfEveryType) {
  testType<int8_t>(DType::I8);
  testType<uint8_t>(DType::U8);
  testType<int16_t>(DType::I16);
  testType<uint16_t>(DType::U16);
  testType<int32_t>(DType::I32);
  testType<uint32_t>(DType::U32);
  testType<int64_t>(DType::I64);
}

TEST(ValueCheck, NothingIsInAnEmptyRange) {
  EXPECT_FALSE(violationOf(indexCheck(0, 0), DType::I64, std::vector<int64_t>{}));
  EXPECT_TRUE(violationOf(indexCheck(0, 0), DType::I64, std::vector<int64_t>{0}));
}

TEST(ValueCheck, AnExceptionIsAllowed) {
  ValueCheck check{ValueCheck::Kind::Target, "nll_loss", 0, 5, -100};
  std::vector<int64_t> targets = {4, -100, 0, -100};
  EXPECT_FALSE(violationOf(check, DType::I64, targets));
  targets.push_back(-99);
  auto found = violationOf(check, DType::I64, targets);
  ASSERT_TRUE(found);
  std::vector<int64_t> shape = {5};
  EXPECT_EQ(errorOf(ErrorKind::OutOfRange, [&] { throwViolation(check, *found, shape); }),
            "nll_loss: target -99 at [4] is outside [0, 5) and is not -100");
}

TEST(ValueCheck, ThreadsFindTheSame) {
  std::mt19937 random(0);
  for (int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    for (int64_t first : {0, 40'000, 299'999}) {
      std::vector<int64_t> values(300'000, 3);
      for (int64_t i = first; i < 300'000; i += 1 + random() % 1000)
        values[static_cast<size_t>(i)] = 10 + i;
      auto found = violationOf(indexCheck(-10, 10), DType::I64, values, &pool);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->position, first);
      EXPECT_EQ(found->value, 10 + first);
    }
  }
}

/// y = x + 1, once the indices were checked.
Program checkedProgram() {
  DimExpr n = DimExpr::symbol(0);
  Program program;
  program.name = "checked";
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"x", DType::F32, {n}}, {"i", DType::I64, {n, number(2)}}};
  program.outputs = {{"y", DType::F32, {n}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, n * number(4)),
                     buffer(BufferInfo::Kind::Input, 1, n * number(16)),
                     buffer(BufferInfo::Kind::Output, 0, n * number(4))};
  program.buffers[1].dtype = DType::I64;
  Step check;
  check.kind = Step::Kind::Library;
  check.name = "node 'embed' (Gather)";
  check.symbol = checkSymbol(ValueCheck::Kind::Index);
  check.operands = {1};
  check.parameters = checkParameters(DType::I64, DimExpr() - n, n, std::nullopt, {n, number(2)});
  program.steps = {check, kernelStep("y", {0, 2}, n)};
  return program;
}

TEST(ValueCheck, IsAStepOfAProgram) {
  Executable executable(checkedProgram(), ProgramCode{{nullptr, addOne}, {}, nullptr});
  auto run = [&](std::vector<int64_t> indices) {
    Tensor x = floats({3}, {1, 2, 3});
    return executable.run(std::vector{x, tensorOf(DType::I64, {3, 2}, indices)})[0];
  };
  EXPECT_EQ(run({0, 1, 2, -1, -2, -3}).as<float>()[2], 4);
  EXPECT_EQ(errorOf(ErrorKind::OutOfRange, [&] { run({0, 1, 2, 3, -4, 0}); }),
            "node 'embed' (Gather): index 3 at [1, 1] is outside [-3, 3)");
  EXPECT_EQ(errorOf(ErrorKind::OutOfRange, [&] { run({0, 1, 2, 2, -4, 0}); }),
            "node 'embed' (Gather): index -4 at [2, 0] is outside [-3, 3)");
  EXPECT_EQ(run({0, 0, 0, 0, 0, 0}).as<float>()[0], 2);
}

TEST(ValueCheck, StepsThatAreNoneAreRefused) {
  Step step;
  step.kind = Step::Kind::Library;
  step.name = "step";
  step.symbol = "check.index";
  step.operands = {0};
  auto read = [&](std::vector<int64_t> parameters) { readCheckStep(step, parameters); };
  EXPECT_NO_THROW(read({static_cast<int64_t>(DType::I64), 0, 1, 0, 0, 4}));
  EXPECT_THROW(read({static_cast<int64_t>(DType::F32), 0, 1, 0, 0, 4}), InternalError);
  EXPECT_THROW(read({-1, 0, 1, 0, 0, 4}), InternalError);
  EXPECT_THROW(read({static_cast<int64_t>(DType::I64), 0, 1, 0, 0, -4}), InternalError);
  EXPECT_THROW(read({static_cast<int64_t>(DType::I64), 0, 1}), InternalError);
  EXPECT_THROW(read({static_cast<int64_t>(DType::I64), 0, 1, 0, 0, INT64_MAX, 3}), InternalError);
  step.symbol = "check.nothing";
  EXPECT_THROW(read({static_cast<int64_t>(DType::I64), 0, 1, 0, 0, 4}), InternalError);
}

} // namespace
} // namespace headrace
