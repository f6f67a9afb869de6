// Steps on the loops of stages: what they do, and which are rejected, with what reason.
#include "runtime/system/Error.h"
#include "transform/recipe/LoopModel.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

ReadDim along(int axis, int64_t extent) { return {{{axis, 1}}, extent}; }

/// C[i, j] = sum over k of A[i, k] * B[k, j], then D[i, j] = f(C[i, j]).
LoopModel productThenMap() {
  Stage c;
  c.name = "C";
  c.axes = {{"i", 100}, {"j", 64}, {"k", 32, true}};
  c.reads = {{"A", {along(0, 100), along(2, 32)}}, {"B", {along(2, 32), along(1, 64)}}};
  c.result = {0, 1};
  c.reorderable = true;
  Stage d;
  d.name = "D";
  d.axes = {{"i", 100}, {"j", 64}};
  d.reads = {{"C", {along(0, 100), along(1, 64)}}};
  d.result = {0, 1};
  d.isOutput = true;
  return LoopModel({c, d});
}

std::string loopsOf(const LoopModel &model, const std::string &stage) {
  return LoopModel::summary(*model.find(stage));
}

/// The reason why the last step is rejected; the model is as it was without that step.
std::string refusal(const std::string &text, LoopModel model = productThenMap()) {
  Recipe recipe = Recipe::parse(text);
  for (size_t i = 0; i + 1 < recipe.steps.size(); ++i)
    model.apply(recipe.steps[i]);
  std::string before = loopsOf(model, "C") + loopsOf(model, "D");
  try {
    model.apply(recipe.steps.back());
  } catch (const Error &error) {
    EXPECT_EQ(loopsOf(model, "C") + loopsOf(model, "D"), before);
    EXPECT_EQ(model.recipe().steps.size() + 1, recipe.steps.size());
    std::string message = error.what(), step = recipe.steps.back().text();
    size_t at = message.find("'" + step + "': ");
    EXPECT_NE(at, std::string::npos) << message;
    return message.substr(at + step.size() + 4);
  }
  ADD_FAILURE() << "accepted: " << recipe.steps.back().text();
  return "";
}

LoopModel applied(const std::string &text, LoopModel model = productThenMap()) {
  model.apply(Recipe::parse(text));
  return model;
}

TEST(LoopModel, SplitMakesTwoLoops) {
  LoopModel model = applied("C: split i by 6 -> a b\nC: split b by 2\n");
  EXPECT_EQ(loopsOf(model, "C"), "a 17, b.o 3, b.i 2, j 64, k 32");
  EXPECT_TRUE(model.find("C")->isRagged(model.find("C")->loops[0].parts[0]));
  EXPECT_EQ(loopsOf(applied("C: split j by 1000"), "C"), "i 100, j.o 1, j.i 64, k 32");
}

TEST(LoopModel, TileSplitsAndMovesInside) {
  EXPECT_EQ(loopsOf(applied("C: tile i j by 6 16"), "C"), "i.o 17, j.o 4, k 32, i.i 6, j.i 16");
  EXPECT_EQ(loopsOf(applied("C: reorder k i j\nC: tile i j by 6 16"), "C"),
            "k 32, i.o 17, j.o 4, i.i 6, j.i 16");
}

TEST(LoopModel, FuseParallelVectorize) {
  LoopModel model = applied("C: tile i j by 10 16\nC: fuse i.o j.o -> ij\nC: parallel ij\n"
                            "C: unroll i.i\nC: vectorize j.i\n");
  EXPECT_EQ(loopsOf(model, "C"), "ij 40 || k 32 | i.i 10, j.i 16");
  EXPECT_EQ(model.kind(), "tiles");
}

TEST(LoopModel, ComputeAtSizesTheLoopsByWhatIsNeeded) {
  LoopModel model = applied("D: tile i j by 6 16\nC: compute_at D j.o\n");
  EXPECT_EQ(loopsOf(model, "C"), "i 6, j 16, k 32");
  EXPECT_EQ(model.kernelRoot("C").name, "D");
  EXPECT_EQ(loopsOf(applied("D: tile i j by 6 16\nC: compute_at D i.o\n"), "C"), "i 6, j 64, k 32");
  EXPECT_EQ(loopsOf(applied("C: compute_at D\n"), "C"), "i 100, j 64, k 32");
}

TEST(LoopModel, ComputeAtOfAWindowNeedsItsHalo) {
  Stage in;
  in.name = "P";
  in.axes = {{"x", 102}};
  in.result = {0};
  Stage out;
  out.name = "S";
  out.axes = {{"x", 100}, {"w", 3, true}};
  out.reads = {{"P", {{{{0, 1}, {1, 1}}, 102}}}};
  out.result = {0};
  out.isOutput = true;
  LoopModel model({in, out});
  model.apply(Recipe::parse("S: split x by 10\nP: compute_at S x.o\n"));
  EXPECT_EQ(loopsOf(model, "P"), "x 12");
}

TEST(LoopModel, CachesAreStages) {
  LoopModel read = applied("C: tile i j by 10 16\nC: cache_read B -> Bl\nBl: compute_at C j.o\n");
  EXPECT_EQ(loopsOf(read, "Bl"), "k 32, j 16");
  EXPECT_EQ(read.find("C")->reads[1].source, "Bl");
  LoopModel write = applied("D: cache_write\nD: tile i j by 10 16\nD.local: compute_at D j.o\n"
                            "C: compute_at D.local i\n");
  EXPECT_EQ(loopsOf(write, "D.local"), "i 10, j 16");
  EXPECT_EQ(loopsOf(write, "C"), "i 1, j 16, k 32");
  EXPECT_EQ(write.kernelRoot("C").name, "D");
}

TEST(LoopModel, ARecipeOfAnotherProgramAppliesByName) {
  Recipe recipe = applied("C: tile i j by 8 16\nC: vectorize j.i\n").recipe();
  LoopModel other = productThenMap();
  other.apply(Recipe::parse(recipe.text()));
  EXPECT_EQ(loopsOf(other, "C"), "i.o 13, j.o 4, k 32, i.i 8 | j.i 16");
}

TEST(LoopModel, UnknownNames) {
  EXPECT_EQ(refusal("E: parallel i"), "there is no stage 'E'; the stages are C, D");
  EXPECT_EQ(refusal("C: parallel m"), "'C' has no axis 'm'; its loops are i, j, k");
  EXPECT_EQ(refusal("C: compute_at E i"), "there is no stage 'E'; the stages are C, D");
}

TEST(LoopModel, SplitRefusals) {
  EXPECT_EQ(refusal("C: split i by 0"), "a tile has at least one element, not 0");
  EXPECT_EQ(refusal("C: split i by -4"), "a tile has at least one element, not -4");
  EXPECT_EQ(refusal("C: split i by 4 -> j x"), "'C' has a loop 'j' already");
  EXPECT_EQ(refusal("C: split i by 4 -> x x"), "both loops would be called 'x'");
  EXPECT_EQ(refusal("C: fuse i j\nC: split i_j by 4"),
            "'i_j' is several loops in one; split them before they are fused");
  EXPECT_EQ(refusal("C: parallel i\nC: split i by 4"),
            "'i' is parallel, unrolled or vectorized already; split it before");
  EXPECT_EQ(refusal("D: split i by 4\nC: compute_at D i.i\nD: split i.i by 2"),
            "'C' is computed inside its loops already; shape them before");
  EXPECT_EQ(refusal("C: tile i i by 2 2"), "an axis is named twice");
}

TEST(LoopModel, ReorderRefusals) {
  EXPECT_EQ(refusal("C: reorder i k"), "the order of all loops is needed; missing: j");
  EXPECT_EQ(refusal("C: reorder i j k i"), "'i' is named twice");
  EXPECT_EQ(refusal("C: split i by 4\nC: reorder i.i i.o j k"),
            "'i.i' iterates inside a tile of 'i.o' and must stay inside it");
  EXPECT_EQ(refusal("C: parallel i\nC: reorder j i k"),
            "'i' is parallel: only parallel loops may be outside it");
}

TEST(LoopModel, FuseRefusals) {
  EXPECT_EQ(refusal("C: fuse i k"), "'k' is not directly inside 'i'");
  EXPECT_EQ(refusal("C: parallel i\nC: fuse i j"), "'j' and 'i' run differently");
  EXPECT_EQ(refusal("C: fuse i j -> k"), "'C' has a loop 'k' already");
}

TEST(LoopModel, ParallelRefusals) {
  EXPECT_EQ(refusal("C: reorder k i j\nC: parallel k"),
            "'k' is a reduction axis; its iterations are not independent");
  EXPECT_EQ(refusal("C: parallel j"), "'j' is parallel: only parallel loops may be outside it");
  EXPECT_EQ(refusal("C: compute_at D i\nC: parallel i"),
            "'C' is computed inside 'D', whose loops are shared among threads instead");
}

TEST(LoopModel, VectorizeAndUnrollRefusals) {
  EXPECT_EQ(refusal("C: vectorize j"),
            "'j' is not innermost: 'k' is inside it and neither unrolled nor vectorized");
  LoopModel open = productThenMap();
  std::vector<Stage> stages = open.getStages();
  stages[1].axes[1].extent = std::nullopt;
  EXPECT_EQ(refusal("D: vectorize j", LoopModel(stages)),
            "the extent of 'j' is not known; split it first");
  EXPECT_EQ(refusal("D: unroll j", LoopModel(stages)),
            "the extent of 'j' is not known; split it first");
  stages[1].axes[1].extent = 5000;
  EXPECT_EQ(refusal("D: vectorize j", LoopModel(stages)),
            "'j' has 5000 iterations, more than a vector can hold (1024); split it first");
  EXPECT_EQ(refusal("D: unroll j", LoopModel(stages)),
            "'j' has 5000 iterations, more than 256; split it first");
  EXPECT_EQ(refusal("C: unroll j\nC: vectorize k"),
            "'k' is a reduction axis: a vector along it must be the only loop of its tile");
  stages[0].reorderable = false;
  EXPECT_EQ(refusal("C: vectorize k", LoopModel(stages)),
            "'k' is a reduction axis, and the order in which 'C' combines its elements matters");
  EXPECT_EQ(refusal("D: vectorize j\nD: unroll j"),
            "'j' is parallel, unrolled or vectorized already");
}

TEST(LoopModel, ComputeAtRefusals) {
  EXPECT_EQ(refusal("D: compute_at C i"),
            "'D' is needed completely: it is a result of the program, or is reshaped or checked");
  EXPECT_EQ(refusal("C: compute_at C i"), "a stage is not computed inside itself");
  EXPECT_EQ(refusal("C: compute_at D i\nC: compute_at D j"), "'C' is computed inside 'D' already");
  EXPECT_EQ(refusal("C: split i by 4\nC: compute_at D i"),
            "its loops have been shaped already; say first where it is computed, then how");
  EXPECT_EQ(refusal("D: vectorize j\nC: compute_at D j"), "'j' is part of a register tile");
  EXPECT_EQ(refusal("D: parallel i j\nC: compute_at D i"),
            "'i' has parallel loops inside it; the innermost of them, 'j', is the place");
  LoopModel model = productThenMap();
  std::vector<Stage> stages = model.getStages();
  Stage other = stages[1];
  other.name = "E";
  stages.push_back(other);
  EXPECT_EQ(refusal("C: compute_at D i", LoopModel(stages)),
            "'C' is read by 'E', which is not computed inside 'i'");
  stages.pop_back();
  stages[1].reads[0].source = "F";
  EXPECT_EQ(refusal("C: compute_at D i", LoopModel(stages)), "'D' does not read 'C'");
  EXPECT_EQ(refusal("C: compute_at D i\nD: vectorize j\nD: unroll i"),
            "'C' is computed inside it or inside a loop in it");
}

TEST(LoopModel, CacheAndPackRefusals) {
  EXPECT_EQ(refusal("C: cache_read D"), "'C' does not read 'D'; it reads A, B");
  EXPECT_EQ(refusal("C: cache_read B -> D"), "there is a stage 'D' already");
  EXPECT_EQ(refusal("D: split i by 4\nD: cache_write"),
            "the loops of 'D' have been shaped already");
  EXPECT_EQ(refusal("C: pack D at j"), "'C' does not read 'D'");
  EXPECT_EQ(refusal("C: pack B at j\nC: pack B at i"), "'B' is packed already");
}

} // namespace
} // namespace headrace
