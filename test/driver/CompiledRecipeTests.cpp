// Programs under recipes: whatever the loops, the results are those of the program.
#include "driver/Compiler.h"
#include "runtime/system/Error.h"

#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

/// C[i, j] = sum over k of A[i, k] * B[k, j].
void buildProduct(CompiledProgram &p, int64_t m, int64_t n, int64_t k) {
  Value a = p.input({m, k}), b = p.input({k, n});
  p.output(p.name(p.contract("ik,kj->ij", a, b), "C", {"i", "k", "j"}));
}

void checkProduct(const std::string &recipe, int64_t m = 70, int64_t n = 100, int64_t k = 33) {
  SCOPED_TRACE(recipe);
  CompiledProgram p;
  p.recipe = recipe;
  buildProduct(p, m, n, k);
  p.check();
}

TEST(CompiledRecipe, NaiveLoops) {
  checkProduct("C: parallel i");
  checkProduct("C: reorder k i j");
  checkProduct("C: reorder j k i");
  checkProduct("C: reorder i j k\nC: parallel i j");
}

TEST(CompiledRecipe, TilesThatDivideAndTilesThatDoNot) {
  for (int64_t m : {64, 70, 5})
    for (int64_t n : {96, 100, 7}) {
      checkProduct("C: reorder i j k\nC: tile i j by 8 16", m, n, 33);
      checkProduct("C: reorder i j k\nC: tile i j k by 8 16 4\n", m, n, 33);
      checkProduct("C: reorder i j k\nC: tile i j by 8 16\nC: unroll i.i\nC: vectorize j.i", m, n,
                   33);
    }
}

TEST(CompiledRecipe, BlocksOfBlocks) {
  std::string blocked = "C: split i by 24 -> i.c i.r\n"
                        "C: split j by 48 -> j.c j.r\n"
                        "C: split k by 8 -> k.c k.r\n"
                        "C: split i.r by 6 -> i.o i.t\n"
                        "C: split j.r by 16 -> j.o j.t\n"
                        "C: reorder j.c k.c i.c j.o i.o k.r i.t j.t\n";
  checkProduct(blocked);
  checkProduct(blocked + "C: parallel j.c\n");
  checkProduct(blocked + "C: unroll i.t\nC: vectorize j.t\n");
  checkProduct(blocked + "C: parallel j.c\nC: unroll i.t\nC: vectorize j.t\n", 48, 96, 32);
  checkProduct(blocked + "C: parallel j.c\nC: unroll i.t\nC: vectorize j.t\n", 53, 101, 29);
}

TEST(CompiledRecipe, LastCellsAreSmaller) {
  std::string cells = "C: reorder i j k\nC: tile i j by 6 16\n";
  std::string vectors = "C: unroll i.i\nC: vectorize j.i\n";
  for (auto [m, n, k] : {std::tuple(48, 96, 30), std::tuple(53, 101, 33), std::tuple(70, 100, 9)}) {
    checkProduct(cells + "C: reorder i.o j.o k i.i j.i\nC: parallel i.o j.o\n" + vectors, m, n, k);
    checkProduct(cells + "C: reorder j.o i.o k i.i j.i\nC: parallel j.o\nC: pack in1 at j.o\n" +
                     vectors,
                 m, n, k);
  }
}

TEST(CompiledRecipe, FusedAndUnrolledLoops) {
  checkProduct("C: reorder i j k\nC: tile i j by 10 20\nC: fuse i.o j.o -> t\nC: parallel t\n");
  checkProduct("C: reorder i j k\nC: split k by 3\nC: tile i j by 10 20\n"
               "C: reorder i.o j.o k.o k.i i.i j.i\nC: unroll k.i\nC: unroll i.i\n"
               "C: vectorize j.i\n");
  checkProduct("C: reorder i j k\nC: fuse i j\nC: split k by 11\nC: unroll k.i\n");
}

TEST(CompiledRecipe, VectorsAlongTheReduction) {
  for (int64_t k : {64, 33, 5}) {
    checkProduct("C: reorder i j k\nC: split k by 8\nC: vectorize k.i\n", 20, 10, k);
    checkProduct("C: reorder i j k\nC: parallel i\nC: split k by 16\nC: vectorize k.i\n", 9, 3, k);
  }
}

/// D = relu(C), C = A * B.
void checkEpilogue(const std::string &recipe, int64_t m, int64_t n, int64_t kernels) {
  SCOPED_TRACE(recipe);
  CompiledProgram p;
  p.recipe = recipe;
  Value a = p.input({m, 24}), b = p.input({24, n});
  Value c = p.name(p.contract("ik,kj->ij", a, b), "C", {"i", "k", "j"});
  p.output(p.name(p.relu(c), "D", {"i", "j"}));
  p.check();
  EXPECT_EQ(p.kernels(), kernels);
}

TEST(CompiledRecipe, AStageIsComputedWhereTheRecipeSays) {
  for (int64_t m : {40, 43}) {
    checkEpilogue("C: parallel i\nD: parallel i\n", m, 32, 2);
    checkEpilogue("C: compute_at D\n", m, 32, 1);
    checkEpilogue("D: parallel i\nC: compute_at D i\n", m, 32, 1);
    checkEpilogue("C: compute_at D j\n", m, 32, 1);
    checkEpilogue("D: tile i j by 8 16\nD: parallel i.o\nC: compute_at D i.o\nC: reorder k i j\n",
                  m, 32, 1);
    checkEpilogue("D: tile i j by 8 16\nD: parallel i.o\nD: unroll i.i\nD: vectorize j.i\n"
                  "C: compute_at D j.o\nC: reorder k i j\nC: unroll i\nC: vectorize j\n",
                  m, 32, 1);
  }
}

TEST(CompiledRecipe, StagesThatTwoRead) {
  for (int64_t n : {64, 50}) {
    CompiledProgram p;
    Value x = p.input({12, n});
    Value e = p.name(p.exp(x), "E", {"i", "j"});
    Value s = p.name(p.reduce(hr::ReduceKind::Sum, e, {1}, true), "S", {"i", "k"});
    p.output(p.name(p.sum({e, s}), "R", {"i", "j"}));
    p.recipe = "R: parallel i\nS: compute_at R i\nE: compute_at R i\n"
               "R: split j by 16\nR: vectorize j.i\nE: split j by 16\nE: vectorize j.i\n"
               "S: split k by 16\nS: vectorize k.i\n";
    p.check();
    EXPECT_EQ(p.kernels(), 1);
  }
}

TEST(CompiledRecipe, WindowsNeedTheirHalo) {
  for (const char *recipe :
       {"W: parallel d0 d1\nP: compute_at W d1\n", "W: split d1 by 4\nP: compute_at W d1.o\n"}) {
    CompiledProgram p;
    Value x = p.input({2, 13, 20, 8});
    Value r = p.name(p.relu(x), "P");
    SmallVector<int64_t> ones{1, 1}, none{0, 0, 0, 0};
    Value pooled = p.add<hr::PoolOp>(r, hr::PoolKind::Max, SmallVector<int64_t>{3, 3}, ones, ones,
                                     none, true, hr::ChannelLayout::Last);
    p.output(p.name(pooled, "W"));
    p.recipe = recipe;
    p.check();
  }
}

TEST(CompiledRecipe, CopiesOfWhatIsReadAndWritten) {
  std::string tiles =
      "C: reorder i j k\nC: tile i j k by 8 16 8\nC: reorder i.o j.o k.o k.i i.i j.i\n";
  for (int64_t m : {64, 70}) {
    checkProduct(tiles + "C: cache_read in1 -> B.local\nB.local: compute_at C k.o\n", m);
    checkProduct(tiles + "C: unroll i.i\nC: vectorize j.i\n"
                         "C: cache_read in1 -> B.local\nB.local: compute_at C k.o\n"
                         "B.local: vectorize j\n",
                 m);
    checkProduct("C: cache_write -> acc\nC: tile i j by 8 16\nacc: compute_at C j.o\n"
                 "acc: reorder k i j\nacc: unroll i\nacc: vectorize j\nC: unroll i.i\n"
                 "C: vectorize j.i\n",
                 m);
  }
}

TEST(CompiledRecipe, PackedPanels) {
  std::string blocked = "C: split j by 48 -> j.g j.c\n"
                        "C: split j.c by 16 -> j.o j.t\n"
                        "C: split i by 24 -> i.c i.r\n"
                        "C: split i.r by 6 -> i.o i.t\n";
  std::string whole = blocked + "C: reorder j.g j.o i.c i.o k i.t j.t\nC: parallel j.g\n";
  std::string parts = blocked + "C: split k by 10 -> k.o k.i\n"
                                "C: reorder j.g k.o i.c j.o i.o k.i i.t j.t\nC: parallel j.g\n";
  std::string vectors = "C: unroll i.t\nC: vectorize j.t\n";
  for (auto [m, n, k] : {std::tuple(48, 96, 30), std::tuple(53, 101, 33), std::tuple(5, 7, 3)}) {
    checkProduct(whole + "C: pack in1 at j.g\n" + vectors, m, n, k);
    checkProduct(parts + "C: pack in1 at k.o\n" + vectors, m, n, k);
    checkProduct(parts + "C: pack in1 at k.o\nC: pack in0 at i.c\n" + vectors, m, n, k);
    checkProduct(parts + "C: pack in0 at k.o\n", m, n, k);
  }
}

TEST(CompiledRecipe, OpenSizes) {
  CompiledProgram p;
  AffineExpr n = p.symbol("n");
  MLIRContext *context = p.context();
  Value a = p.symbolicInput({n, constantDim(24, context)});
  Value b = p.symbolicInput({constantDim(24, context), constantDim(40, context)});
  p.output(p.name(p.contract("ik,kj->ij", a, b), "C", {"i", "k", "j"}));
  p.recipe =
      "C: reorder i j k\nC: tile i j by 6 16\nC: parallel i.o\nC: reorder i.o j.o k i.i j.i\n"
      "C: unroll i.i\nC: vectorize j.i\n";
  for (int64_t size : {2, 6, 7, 40})
    p.check({size});
}

TEST(CompiledRecipe, WhatTheRecipeDoesNotNameIsScheduledByTheCompiler) {
  CompiledProgram p;
  Value a = p.input({40, 24}), b = p.input({24, 32});
  Value c = p.name(p.contract("ik,kj->ij", a, b), "C", {"i", "k", "j"});
  p.output(p.exp(p.relu(p.relu(c))));
  p.recipe = "C: parallel i\n";
  p.check();
  EXPECT_EQ(p.kernels(), 2);
}

std::string errorOf(const std::string &recipe) {
  CompiledProgram p;
  p.recipe = recipe;
  buildProduct(p, 8, 8, 8);
  Settings settings;
  settings.recipe = recipe;
  try {
    p.run({});
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(CompiledRecipe, IllegalStepsAreTheUsersError) {
  EXPECT_EQ(errorOf("C: parallel i\nC: parallel k"),
            "recipe, line 2, 'C: parallel k': 'k' is a reduction axis; its iterations are not "
            "independent");
  EXPECT_EQ(errorOf("E: parallel i"),
            "recipe, line 1, 'E: parallel i': there is no stage 'E'; the stages are C");
  EXPECT_EQ(errorOf("C: cache_read in1 -> B"),
            "recipe: 'B' is a copy of its own, 'C: cache_read in1 -> B', and no step says inside "
            "which loop it is made (compute_at)");
}

} // namespace
} // namespace headrace
