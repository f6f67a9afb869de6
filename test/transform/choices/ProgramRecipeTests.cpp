#include "runtime/system/Error.h"
#include "transform/choices/ProgramRecipe.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

const char *kWhole = "# machine parameters 5d41402abc4b2a76\n"
                     "fold bn1 into conv1\n"
                     "leave bn2\n"
                     "layout conv1/conv channels-last\n"
                     "expand gemm as openblas\n"
                     "fuse relu1 into conv1/conv\n"
                     "separate conv1/pad\n"
                     "walk sum along d0\n"
                     "merge mean into sum\n"
                     "pack gemm by 32\n"
                     "kernel conv1/conv:\n"
                     "  map: parallel d0\n"
                     "  conv: compute_at map d0\n"
                     "kernel sum:\n";

std::string errorOf(const std::string &text) {
  try {
    (void)ProgramRecipe::parse(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(ProgramRecipe, TextIsWhatWasRead) { EXPECT_EQ(ProgramRecipe::parse(kWhole).text(), kWhole); }

TEST(ProgramRecipe, TheFirstCommentIsKeptAndMeansNothing) {
  EXPECT_EQ(ProgramRecipe::parse("\n  # of mine \nleave bn2 # why\n# more\n").text(),
            "# of mine\nleave bn2\n");
  EXPECT_EQ(ProgramRecipe::parse("leave bn2\n# later\n").heading, "");
}

TEST(ProgramRecipe, StepsKnowTheirLines) {
  ProgramRecipe recipe = ProgramRecipe::parse("# layouts\n\nlayout a channels-first # why\n");
  ASSERT_EQ(recipe.steps.size(), 1u);
  EXPECT_EQ(recipe.steps[0].line, 3);
  EXPECT_EQ(recipe.steps[0].subject, "a");
  EXPECT_EQ(recipe.steps[0].object, "channels-first");
}

TEST(ProgramRecipe, LinesOnStagesStayWhereTheyStand) {
  ProgramRecipe recipe =
      ProgramRecipe::parse("separate a\nfuse: parallel d0\nkernel b:\n  c: unroll d1\n");
  EXPECT_EQ(recipe.stages, "\nfuse: parallel d0\n\n\n");
  ASSERT_EQ(recipe.kernels.size(), 1u);
  EXPECT_EQ(recipe.kernels[0].schedule, "c: unroll d1\n");
  EXPECT_TRUE(ProgramRecipe::parse(kWhole).stages.empty());
}

TEST(ProgramRecipe, KindsOfOperatorsAreSubjects) {
  const char *text = "separate every reduce over last axis\n"
                     "expand every conv of 3x3 as openblas\n"
                     "layout every pool channels-first\n";
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  ASSERT_EQ(recipe.steps.size(), 3u);
  EXPECT_EQ(recipe.steps[0].subject, "every reduce over last axis");
  EXPECT_EQ(recipe.steps[1].subject, "every conv of 3x3");
  EXPECT_EQ(recipe.steps[1].object, "openblas");
  EXPECT_EQ(recipe.steps[2].subject, "every pool");
  EXPECT_EQ(recipe.steps[2].object, "channels-first");
  EXPECT_EQ(recipe.text(), text);
  EXPECT_EQ(errorOf("separate every\n"),
            "recipe, line 1, column 15: expected a kind of operators, got the end of the line");
}

TEST(ProgramRecipe, GradientsHaveTwoPrograms) {
  GradientRecipe recipe =
      GradientRecipe::of("keep a\nforward:\nseparate b\nbackward:\nseparate c\n");
  EXPECT_TRUE(recipe.hasPrograms);
  EXPECT_EQ(ProgramRecipe::parse(recipe.split).steps[0].text(), "keep a");
  EXPECT_EQ(ProgramRecipe::parse(recipe.forward).steps[0].line, 3);
  EXPECT_EQ(ProgramRecipe::parse(recipe.backward).steps[0].line, 5);
  EXPECT_FALSE(GradientRecipe::of("separate b\n").hasPrograms);
}

TEST(ProgramRecipe, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_EQ(errorOf("fuse a under b\n"), "recipe, line 1, column 8: expected 'into', got 'under'");
  EXPECT_EQ(errorOf("\npack a by\n"),
            "recipe, line 2, column 10: expected a name or a number, got the end of the line");
  EXPECT_EQ(errorOf("separate a b\n"),
            "recipe, line 1, column 12: expected the end of the line, got 'b'");
  EXPECT_EQ(errorOf("kernel a\n"),
            "recipe, line 1, column 8: expected a kernel's name and ':', got 'a'");
}

TEST(ProgramRecipe, WordsThatNoRecipeHasAreRefusedWithTheNearestOne) {
  auto ends = [](const std::string &text, const std::string &end) {
    std::string error = errorOf(text);
    EXPECT_TRUE(error.ends_with(end)) << error;
    EXPECT_TRUE(error.starts_with("recipe, line 2, column ")) << error;
  };
  std::string steps =
      "expected a step (fold, leave, layout, expand, fuse, separate, walk, merge, "
      "plan, pack, slice, keep, recompute, follow, kernel) or a stage and ':', got ";
  ends("\nunfuse a\n", steps + "'unfuse'; did you mean 'fuse'?");
  ends("\nexapnd a as openblas", steps + "'exapnd'; did you mean 'expand'?");
  ends("\nkernl a:\n", steps + "'kernl'; did you mean 'kernel'?");
  ends("\nnonsense\n", steps + "'nonsense'");
  ends("\nlayout every conv channels-frist",
       "column 19: expected channels-last, channels-first, blocked8 or blocked16, got "
       "'channels-frist'; did you mean 'channels-first'?");
  ends("\nlayout evry conv channels-last",
       "column 8: expected an operator, or 'every' and a kind of operators, got 'evry'; did you "
       "mean 'every'?");
  ends("\nseparate ever conv", "got 'ever'; did you mean 'every'?");
  ends("\nfuse a inot b", "column 8: expected 'into', got 'inot'; did you mean 'into'?");
  ends("\nplan kernel greedily",
       "column 6: expected 'kernels', got 'kernel'; did you mean 'kernels'?");
  ends("\nplan kernels greedly",
       "expected greedily or by-time, got 'greedly'; did you mean 'greedily'?");
  ends("\nfollow recipe loosely", "expected strictly or where-possible, got 'loosely'");
  ends("\npack a by many", "expected a number of columns, 1 for none, got 'many'");
}

TEST(ProgramRecipe, AnOperatorMayBeCalledAlmostEvery) {
  EXPECT_EQ(ProgramRecipe::parse("layout very channels-last\n").steps[0].subject, "very");
  EXPECT_EQ(ProgramRecipe::parse("separate eery \n").steps[0].subject, "eery");
}

TEST(ProgramRecipe, SchedulesKnowTheirLines) {
  ProgramRecipe recipe = ProgramRecipe::parse("\nkernel a:\n  # why\n  b: points\n\n  c: rows\n");
  ASSERT_EQ(recipe.kernels.size(), 1u);
  EXPECT_EQ(recipe.kernels[0].schedule, "b: points\nc: rows\n");
  EXPECT_EQ(recipe.kernels[0].lines, (std::vector<int>{4, 6}));
}

} // namespace
} // namespace headrace
