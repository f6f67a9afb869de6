#include "studio/server/RecipeFile.h"

#include <fstream>
#include <gtest/gtest.h>

namespace headrace::studio {

namespace {

using Words = std::vector<std::string>;

TEST(RecipeFile, ReadsTheWordsThatItsHeadingWrote) {
  for (const Words &words : {Words{"digits.onnx"}, Words{"a model's.onnx", "--size", "batch=4"},
                             Words{"größe 層.onnx", "--target", "cpu:x86-64-v3", ""}})
    EXPECT_EQ(wordsOfHeading(recipeHeading(words) + "separate relu\n"), words);
}

TEST(RecipeFile, OtherFirstLinesNameNoModel) {
  EXPECT_TRUE(wordsOfHeading("").empty());
  EXPECT_TRUE(wordsOfHeading("separate relu\n").empty());
  EXPECT_TRUE(wordsOfHeading("# notes\n# headrace studio digits.onnx\n").empty());
  EXPECT_EQ(recipeHeading({"two\nlines.onnx"}), "");
}

TEST(RecipeFile, AModelIsFoundBesideItsRecipe) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(::testing::TempDir()) / "recipe-file";
  fs::create_directories(folder);
  std::ofstream(folder / "moved.onnx") << "x";
  EXPECT_EQ(modelBeside(folder / "a.recipe", "/gone/moved.onnx"), folder / "moved.onnx");
  EXPECT_EQ(modelBeside(folder / "a.recipe", "/gone/other.onnx"), "/gone/other.onnx");
  fs::remove_all(folder);
}

} // namespace

} // namespace headrace::studio
