// What a step makes of the text of a complete recipe.
#include "optimize/Step.h"

#include "runtime/system/Error.h"

#include <gtest/gtest.h>

namespace headrace::optimize {
namespace {

const char *const kRecipe = "expand conv as generated\n"
                            "fuse relu into conv\n"
                            "fuse bias into conv\n"
                            "pack conv by 16\n"
                            "kernel conv:\n"
                            "  bias: parallel d0\n"
                            "kernel pool:\n"
                            "  pool: parallel d0\n";

CompleteRecipe with(const std::string &step) {
  return CompleteRecipe(kRecipe).with(Step::parse(step));
}

TEST(Steps, OfOneLineHaveTheSchedulesOfKernels) {
  Step step = Step::parse("kernel pool: pool: split d0 by 8 -> a b; pool: parallel a");
  EXPECT_EQ(step.text(), "kernel pool:\n  pool: split d0 by 8 -> a b\n  pool: parallel a");
  EXPECT_EQ(step.line(), "kernel pool: pool: split d0 by 8 -> a b; pool: parallel a");
  EXPECT_EQ(Step::parse(step.text()).line(), step.line());
  EXPECT_EQ(step.verb(), "schedule");
  EXPECT_EQ(step.subject(), "pool");
}

TEST(Steps, AreOneChoiceAboutAnOperator) {
  EXPECT_THROW((void)Step::parse("separate a\nseparate b"), Error);
  EXPECT_THROW((void)Step::parse("plan kernels greedily"), Error);
  EXPECT_THROW((void)Step::parse("conv: parallel d0"), Error);
  EXPECT_THROW((void)Step::parse("seperate a"), Error);
  EXPECT_THROW((void)Step::parse(""), Error);
}

TEST(Steps, OnOneKernelLeaveOtherLines) {
  std::string text = with("separate relu").text();
  EXPECT_EQ(text, "expand conv as generated\n"
                  "fuse bias into conv\n"
                  "pack conv by 16\n"
                  "separate relu\n"
                  "kernel conv:\n"
                  "kernel pool:\n"
                  "  pool: parallel d0\n"
                  "kernel relu:\n");
}

TEST(Steps, ThatTakeAwayTheNameOfAKernelRenameIt) {
  CompleteRecipe after = with("separate conv");
  EXPECT_EQ(after.kernelOf("bias"), "relu");
  EXPECT_EQ(after.kernelOf("relu"), "relu");
  EXPECT_NE(after.find("relu"), nullptr);
}

TEST(Steps, ThatFuseKernelsTakeAllOperators) {
  CompleteRecipe after = with("fuse conv into pool");
  EXPECT_EQ(after.kernelOf("relu"), "pool");
  EXPECT_EQ(after.kernelOf("bias"), "pool");
  EXPECT_EQ(after.find("conv"), nullptr);
  EXPECT_EQ(after.find("pool")->schedule, "");
}

TEST(Steps, OnTheSameQuestionReplaceEachOther) {
  CompleteRecipe once = with("expand conv as openblas");
  EXPECT_EQ(once.objectOf("expand", "conv"), "openblas");
  EXPECT_EQ(once.with(Step::parse("expand conv as generated")).objectOf("expand", "conv"),
            "generated");
  CompleteRecipe fused = with("separate relu").with(Step::parse("fuse relu into conv"));
  EXPECT_EQ(fused.objectOf("separate", "relu"), std::nullopt);
  EXPECT_EQ(fused.kernelOf("relu"), "conv");
}

TEST(Steps, HaveTheLinesThatRecipesDoNotShare) {
  RecipeDifference difference = differenceOf(CompleteRecipe(kRecipe), with("separate relu"));
  EXPECT_EQ(text(difference), "- fuse relu into conv\n"
                              "- kernel conv:\n"
                              "    bias: parallel d0\n"
                              "+ separate relu\n"
                              "+ kernel conv:\n"
                              "+ kernel relu:\n");
  EXPECT_EQ(text(differenceOf(CompleteRecipe(kRecipe), CompleteRecipe(kRecipe))), "");
}

} // namespace
} // namespace headrace::optimize
