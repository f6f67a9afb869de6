// The text of recipes.
#include "runtime/system/Error.h"
#include "transform/choices/Suggestion.h"
#include "transform/recipe/Recipe.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

std::string errorOf(const std::string &text) {
  try {
    Recipe::parse(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Recipe, TextComesBackAsItWas) {
  std::string text = "C: split i by 6 -> i.o i.i\n"
                     "C: split j by 16\n"
                     "C: tile i.i j.i by 2 4\n"
                     "C: reorder i.o j.o k i.i j.i\n"
                     "C: fuse i.o j.o -> ij\n"
                     "C: fuse a b c\n"
                     "C: parallel ij\n"
                     "C: unroll i.i k\n"
                     "C: vectorize j.i\n"
                     "C: cache_read B -> B.local\n"
                     "C: cache_read A\n"
                     "C: cache_write -> C.local\n"
                     "C: cache_write\n"
                     "B.local: compute_at C j.o\n"
                     "B.local: compute_at C\n"
                     "C: pack B at j.o\n"
                     "C: prefetch B by 2\n";
  EXPECT_EQ(Recipe::parse(text).text(), text);
}

TEST(Recipe, SpaceCommentsAndBlankLinesDoNotMatter) {
  Recipe recipe =
      Recipe::parse("# a recipe\n\n  C :  split i   by 6->i.o i.i  # tiles\r\n\t\nC:parallel i.o");
  ASSERT_EQ(recipe.steps.size(), 2u);
  EXPECT_EQ(recipe.steps[0].text(), "C: split i by 6 -> i.o i.i");
  EXPECT_EQ(recipe.steps[0].line, 3);
  EXPECT_EQ(recipe.steps[1].text(), "C: parallel i.o");
  EXPECT_EQ(recipe.steps[1].line, 5);
  EXPECT_TRUE(Recipe::parse("").empty());
}

TEST(Recipe, MistakesAreNamedByLineAndColumn) {
  EXPECT_EQ(errorOf("C: parallel i\nC split i by 6"),
            "recipe, line 2, column 3: expected ':' after the stage 'C', got 'split'");
  EXPECT_EQ(errorOf("parallel i"),
            "recipe, line 1, column 1: expected a stage and ':' before the step, got 'parallel'");
  EXPECT_EQ(errorOf("paralel i"),
            "recipe, line 1, column 1: expected a stage and ':' before a step, got 'paralel'; did "
            "you mean 'parallel'?");
  EXPECT_EQ(errorOf("C: splt i by 6"),
            "recipe, line 1, column 4: expected a step (split, tile, reorder, fuse, parallel, "
            "unroll, vectorize, cache_read, cache_write, compute_at, pack, prefetch, tensorize), "
            "got 'splt'; did you mean 'split'?");
  EXPECT_EQ(errorOf("C: split i 6"), "recipe, line 1, column 12: expected 'by', got '6'");
  EXPECT_EQ(errorOf("C: split i by six"), "recipe, line 1, column 15: expected a size, got 'six'");
  EXPECT_EQ(errorOf("C: split i by 99999999999999999999"),
            "recipe, line 1, column 15: expected a size, got '99999999999999999999'");
  EXPECT_EQ(errorOf("C: tile i j by 6"),
            "recipe, line 1, column 17: expected a size, got the end of the line");
  EXPECT_EQ(errorOf("C: split i by 6 -> a b c"),
            "recipe, line 1, column 24: expected the end of the line, got 'c'");
  EXPECT_EQ(errorOf("C: vectorize"),
            "recipe, line 1, column 13: expected an axis, got the end of the line");
  EXPECT_EQ(errorOf("C: pack B j"), "recipe, line 1, column 11: expected 'at', got 'j'");
  EXPECT_EQ(errorOf("? parallel i"),
            "recipe, line 1, column 1: expected the name of a stage, got '?'");
}

TEST(Suggestion, NeighboursExchangedAreOneMistake) {
  EXPECT_EQ(editDistance("contrcat", "contract"), 1u);
  EXPECT_EQ(editDistance("contrcat", "concat"), 2u);
  EXPECT_EQ(editDistance("", "pad"), 3u);
  EXPECT_EQ(editDistance("pad", ""), 3u);
  EXPECT_EQ(editDistance("abc", "abc"), 0u);
  EXPECT_EQ(suggestion("contrcat", {"concat", "contract", "conv"}), "; did you mean 'contract'?");
  EXPECT_EQ(suggestion("zebra", {"concat", "contract"}), "");
}

} // namespace
} // namespace headrace
