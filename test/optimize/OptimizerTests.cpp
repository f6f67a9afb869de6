// Steps on a program: what is predicted is what the compiler then makes of it.
#include "runtime/system/Error.h"

#include "optimize/Optimizer.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace headrace::optimize {
namespace {

const char *const kDigits = HEADRACE_EXAMPLES "/digits/digits.onnx";
const Sizes kBatch = {3};

std::shared_ptr<Model> digits(const std::string &recipe = "") {
  Settings settings;
  settings.recipe = recipe;
  return Model::load(kDigits, settings);
}

class OptimizerTest : public ::testing::Test {
protected:
  OptimizerTest() : optimizer(digits(), {}, kBatch) {}

  std::string irOf(const std::string &recipe) { return digits(recipe)->ir("schedule", kBatch); }
  std::vector<Transformation> legal() {
    std::vector<Transformation> all = optimizer.list();
    std::erase_if(all, [](const Transformation &each) { return !each.isLegal(); });
    return all;
  }

  Optimizer optimizer;
};

void expectAsExplained(const Transformation &predicted) {
  Explanation found = digits(predicted.recipe)->explain(kBatch);
  EXPECT_EQ(predicted.after.kernels, found.after.kernels) << predicted.step;
  EXPECT_EQ(predicted.after.bytes, found.after.bytesMoved.evaluate({})) << predicted.step;
  EXPECT_EQ(predicted.after.operations, found.after.operations.evaluate({})) << predicted.step;
  EXPECT_EQ(predicted.after.peakBytes, found.peakBytes) << predicted.step;
  EXPECT_EQ(predicted.recipe, found.recipe) << predicted.step;
  double microseconds = 0;
  for (const KernelReport &kernel : found.kernels)
    microseconds += kernel.prediction->microseconds;
  EXPECT_DOUBLE_EQ(predicted.after.microseconds, microseconds) << predicted.step;
}

TEST_F(OptimizerTest, PredictsWhatExplainSaysAfterwards) {
  std::vector<Transformation> steps = legal();
  ASSERT_GT(steps.size(), 20U);
  for (const Transformation &step : steps)
    expectAsExplained(optimizer.predict(step.step));
}

TEST_F(OptimizerTest, ListsWhatPlanningTheWholeProgramTells) {
  for (const Transformation &listed : optimizer.list()) {
    Transformation whole = optimizer.predict(listed.step);
    EXPECT_EQ(listed.isLegal(), whole.isLegal()) << listed.step;
    EXPECT_EQ(listed.after.kernels, whole.after.kernels) << listed.step;
    EXPECT_EQ(listed.after.bytes, whole.after.bytes) << listed.step;
    EXPECT_EQ(listed.after.operations, whole.after.operations) << listed.step;
    EXPECT_EQ(listed.after.peakBytes, whole.after.peakBytes) << listed.step;
    EXPECT_DOUBLE_EQ(listed.after.microseconds, whole.after.microseconds) << listed.step;
    EXPECT_EQ(std::set(listed.dropped.begin(), listed.dropped.end()),
              std::set(whole.dropped.begin(), whole.dropped.end()))
        << listed.step;
    EXPECT_EQ(std::set(listed.added.begin(), listed.added.end()),
              std::set(whole.added.begin(), whole.added.end()))
        << listed.step;
  }
}

TEST_F(OptimizerTest, ListsStepsOfEachKindBestFirst) {
  std::vector<Transformation> all = optimizer.list();
  for (const char *verb : {"separate", "fuse", "layout", "expand", "pack", "slice", "schedule"})
    EXPECT_TRUE(std::ranges::any_of(all, [&](auto &each) { return each.verb == verb; })) << verb;
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_GE(all[i - 1].isLegal(), all[i].isLegal());
    if (all[i].isLegal())
      EXPECT_GE(all[i - 1].savedMicroseconds(), all[i].savedMicroseconds());
  }
}

TEST_F(OptimizerTest, ChangesWhatAStepSaysAndNothingElse) {
  const std::string relu = "/features/features.1/Relu", conv = "/features/features.0/Conv/conv";
  Transformation step = optimizer.apply("separate " + relu);
  EXPECT_EQ(step.after.kernels, step.before.kernels + 1);
  EXPECT_GT(step.after.bytes, step.before.bytes);
  EXPECT_EQ(step.after.operations, step.before.operations);
  EXPECT_EQ(step.kernels, std::vector<std::string>{conv});
  EXPECT_EQ(std::ranges::count(step.dropped, "fuse " + relu + " into " + conv), 1);
  for (const std::vector<std::string> &lines : {step.dropped, step.added})
    for (const std::string &line : lines)
      EXPECT_TRUE(line.find(relu) != std::string::npos || line.find(conv) != std::string::npos)
          << line;
}

TEST_F(OptimizerTest, FusesWhatItSeparated) {
  std::string start = optimizer.recipe();
  optimizer.apply("separate /features/features.4/Relu");
  EXPECT_NE(differenceBetween(start, optimizer.recipe()), "");
  Transformation back = optimizer.apply("fuse /features/features.4/Relu into "
                                        "/features/features.3/Conv/conv");
  EXPECT_EQ(back.after.kernels, optimizer.states().front().figures.kernels);
  EXPECT_EQ(back.after.bytes, optimizer.states().front().figures.bytes);
  EXPECT_EQ(differenceBetween(start, optimizer.recipe()), "");
}

TEST_F(OptimizerTest, RefusesWithTheReason) {
  auto messageOf = [&](const std::string &step) -> std::string {
    try {
      optimizer.apply(step);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      messageOf("pack /features/features.0/Conv/conv by 32"),
      "step 'pack /features/features.0/Conv/conv by 32': there are 16 columns, which is not a "
      "multiple");
  EXPECT_NE(messageOf("fuse /features/features.1/Relu into /features/features.2/MaxPool")
                .find("it is computed along other axes than the kernel's"),
            std::string::npos);
  EXPECT_NE(messageOf("separate nothing").find("there is no operator 'nothing'"),
            std::string::npos);
  EXPECT_NE(messageOf("kernel /features/features.2/MaxPool: pool: vectorize d9").find("d9"),
            std::string::npos);
  EXPECT_EQ(optimizer.position(), 0U);
  for (const Transformation &each : optimizer.list())
    if (!each.isLegal())
      EXPECT_FALSE(each.refused.empty()) << each.step;
}

TEST_F(OptimizerTest, UndoesRandomStepsByteForByte) {
  std::string start = irOf(optimizer.recipe()), recipe = optimizer.recipe();
  std::mt19937 random(7);
  std::vector<std::string> states{recipe};
  for (int i = 0; i < 4; ++i) {
    std::vector<Transformation> steps = legal();
    optimizer.applyUnchecked(steps[random() % steps.size()].step);
    states.push_back(optimizer.recipe());
  }
  for (size_t i = states.size() - 1; i-- > 0;) {
    ASSERT_TRUE(optimizer.undo());
    EXPECT_EQ(optimizer.recipe(), states[i]);
  }
  EXPECT_FALSE(optimizer.undo());
  EXPECT_TRUE(irOf(optimizer.recipe()) == start);
  ASSERT_TRUE(optimizer.redo());
  EXPECT_EQ(optimizer.recipe(), states[1]);
  while (optimizer.redo()) {
  }
  EXPECT_EQ(optimizer.recipe(), states.back());
}

TEST_F(OptimizerTest, StartsWithTheCompilersOwnRecipe) {
  EXPECT_EQ(optimizer.recipe(), digits()->explain(kBatch).recipe);
}

} // namespace
} // namespace headrace::optimize
