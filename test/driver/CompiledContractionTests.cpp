// Compiled contractions against the reference: any maps, any sizes, with what fuses around them.
#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

struct Sizes {
  int64_t m, n, k;
};

void PrintTo(const Sizes &sizes, std::ostream *os) {
  *os << sizes.m << "x" << sizes.n << "x" << sizes.k;
}

class EveryMatrixProduct : public testing::TestWithParam<std::tuple<Sizes, std::string>> {};

TEST_P(EveryMatrixProduct, TransposedOnEitherSide) {
  auto [sizes, expansion] = GetParam();
  auto [m, n, k] = sizes;
  CompiledProgram p;
  p.expansion = expansion;
  Value a = p.input({m, k}), at = p.input({k, m});
  for (bool constant : {false, true}) {
    auto weights = [&](ArrayRef<int64_t> shape) {
      return constant ? p.constant(shape) : p.input(shape);
    };
    p.output(p.contract("mk,kn->mn", a, weights({k, n})));
    p.output(p.contract("mk,nk->mn", a, weights({n, k})));
    p.output(p.contract("km,kn->mn", at, weights({k, n})));
    p.output(p.contract("km,nk->mn", at, weights({n, k})));
    p.output(p.contract("mk,kn->nm", a, weights({k, n})));
  }
  p.check();
}

INSTANTIATE_TEST_SUITE_P(
    CompiledContract, EveryMatrixProduct,
    testing::Combine(testing::Values(Sizes{1, 1, 1}, Sizes{7, 17, 97}, Sizes{97, 7, 17},
                                     Sizes{17, 131, 7}, Sizes{1, 97, 131}, Sizes{131, 1, 97},
                                     Sizes{97, 131, 1}, Sizes{64, 64, 64}, Sizes{28, 96, 33},
                                     Sizes{2, 10, 784}, Sizes{0, 5, 3}, Sizes{5, 0, 3},
                                     Sizes{5, 3, 0}),
                     testing::Values("generated", "openblas", "auto")));

class EveryExpansion : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(CompiledContract, EveryExpansion,
                         testing::Values("generated", "openblas"));

TEST_P(EveryExpansion, EveryKindOfProduct) {
  CompiledProgram p;
  p.expansion = GetParam();
  Value u = p.input({131}), v = p.input({131}), w = p.input({17});
  Value a = p.input({17, 131}), t = p.input({5, 17, 131});
  p.output(p.contract("k,k->", u, v));
  p.output(p.contract("i,j->ij", u, w));
  p.output(p.contract("j,i->ij", u, w));
  p.output(p.contract("mk,k->m", a, v));
  p.output(p.contract("m,mk->k", w, a));
  p.output(p.contract("mk,mk->", a, p.input({17, 131})));
  p.output(p.contract("mk,mk->m", a, p.input({17, 131})));
  p.output(p.contract("mk,mk->k", a, p.input({17, 131})));
  p.output(p.contract("mk,mk->mk", a, p.input({17, 131})));
  p.output(p.contract("bmk,bnk->bmn", t, p.input({5, 7, 131})));
  p.output(p.contract("bmk,bkn->bmn", t, p.input({5, 131, 7})));
  p.output(p.contract("bmk,bkn->mbn", t, p.input({5, 131, 7})));
  p.output(p.contract("bmk,kn->bmn", t, p.constant({131, 33})));
  p.output(p.contract("bmk,mkn->bn", t, p.constant({17, 131, 33})));
  p.output(p.contract("bmk,nk->bmn", t, p.input({7, 131})));
  p.output(p.contract("bmk,mb->k", t, p.input({17, 5})));
  p.output(p.contract("k,->k", u, p.scalar()));
  p.output(p.contract(",->", p.scalar(), p.scalar()));
  p.check();
}

TEST_P(EveryExpansion, DoublePrecision) {
  CompiledProgram p;
  p.expansion = GetParam();
  Type f64 = p.builder().getF64Type();
  Value a = p.input({40, 70}, f64), b = p.input({70, 33}, f64), t = p.input({3, 40, 70}, f64);
  p.output(p.contract("mk,kn->mn", a, b));
  p.output(p.contract("mk,nk->mn", a, p.input({33, 70}, f64)));
  p.output(p.contract("km,kn->mn", a, p.constant({40, 20}, f64)));
  p.output(p.contract("km,kn->mn", a, a));
  p.output(p.contract("mk,nk->mn", a, a));
  p.output(p.contract("mk,k->m", a, p.input({70}, f64)));
  p.output(p.contract("bmk,kn->bmn", t, b));
  p.output(p.contract("bmk,bnk->bmn", t, t));
  p.output(p.contract("bmk,bkn->bmn", t, p.input({3, 70, 21}, f64)));
  p.check();
}

TEST(CompiledContract, SumsOverADimensionOfOneSide) {
  CompiledProgram p;
  Value a = p.input({7, 17}), b = p.input({17, 33});
  p.output(p.contract("mj,kn->mn", a, b));
  p.output(p.contract("mk,kn->m", a, b));
  p.output(p.contract("mk,kn->n", a, b));
  p.output(p.contract("mk,kn->", a, b));
  p.check();
}

TEST(CompiledContract, AttentionHeads) {
  CompiledProgram p;
  Value q = p.input({2, 16, 4, 24}), k = p.input({2, 16, 4, 24}), v = p.input({2, 16, 4, 24});
  Value scores = p.contract("bqhd,bkhd->bhqk", q, k);
  Value weights = p.add<hr::SoftmaxOp>(scores, 3, false);
  p.output(p.contract("bhqk,bkhd->bqhd", weights, v));
  p.check();
}

TEST(CompiledContract, BiasAndActivationFuse) {
  for (int64_t features : {10, 64, 97, 256}) {
    CompiledProgram p;
    Value x = p.input({17, 33});
    Value product = p.contract("mk,kn->mn", x, p.constant({33, features}));
    Value biased = p.sum({product, p.constant({features}), p.input({17, features})});
    p.output(p.relu(biased));
    p.check();
    EXPECT_EQ(p.kernels(), 1) << features;
  }
}

TEST(CompiledContract, EveryType) {
  CompiledProgram p;
  OpBuilder &b = p.builder();
  for (Type type :
       {Type(b.getF64Type()), Type(b.getI32Type()), Type(b.getI64Type()), Type(b.getI8Type())}) {
    Value x = p.input({17, 33}, type);
    p.output(p.contract("mk,kn->mn", x, p.input({33, 40}, type)));
    p.output(p.contract("mk,kn->mn", x, p.constant({33, 40}, type)));
    p.output(p.contract("mk,nk->mn", x, p.input({7, 33}, type)));
  }
  p.check();
}

TEST(CompiledContract, TheSameTensorOnBothSides) {
  CompiledProgram p;
  Value a = p.input({17, 17}), w = p.constant({16, 16});
  p.output(p.contract("mk,kn->mn", a, a));
  p.output(p.contract("mk,nk->mn", a, a));
  p.output(p.contract("mk,kn->mn", w, w));
  // Weights that the epilogue reads as well.
  p.output(p.sum({p.contract("mk,kn->mn", p.input({16, 16}), w), w}));
  p.check();
}

TEST(CompiledContract, ProducersAreComputedOnce) {
  CompiledProgram p;
  Value x = p.exp(p.input({7, 33}));
  Value hidden = p.relu(p.contract("mk,kn->mn", x, p.constant({33, 48})));
  p.output(p.contract("mk,kn->mn", hidden, p.constant({48, 20})));
  p.output(p.contract("mk,kn->mn", hidden, p.constant({48, 5})));
  p.output(hidden);
  p.check();
}

TEST_P(EveryExpansion, SymbolicSizes) {
  CompiledProgram p;
  p.expansion = GetParam();
  AffineExpr batch = p.symbol("batch"), length = p.symbol("length");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({batch, fixed(33)}), y = p.symbolicInput({batch, length, fixed(24)});
  p.output(p.relu(p.contract("mk,kn->mn", x, p.constant({33, 48}))));
  p.output(p.contract("mk,kn->mn", x, p.constant({33, 10})));
  p.output(p.contract("mk,kn->mn", x, p.constant({33, 97})));
  p.output(p.contract("mk,nk->mn", x, p.constant({37, 33})));
  p.output(p.contract("mk,nk->mn", x, p.symbolicInput({batch, fixed(33)})));
  p.output(p.contract("km,kn->mn", x, p.symbolicInput({batch, fixed(16)})));
  p.output(p.contract("bqd,bkd->bqk", y, p.symbolicInput({batch, length, fixed(24)})));
  p.output(p.contract("bqd,dn->bqn", y, p.constant({24, 32})));
  Value scores = p.add<hr::SoftmaxOp>(p.contract("bqd,bkd->bqk", y, y), 2, false);
  p.output(p.contract("bqk,bkd->bqd", scores, y));
  for (int64_t first : {0, 1, 2, 7, 17, 97})
    for (int64_t second : {1, 3, 29})
      p.check({first, second});
}

// Every remainder of a tile of rows, and of columns, if only the run tells how many there are.
TEST(CompiledContract, EveryRemainderOfOpenRowsAndColumns) {
  CompiledProgram p;
  p.expansion = "generated";
  AffineExpr rows = p.symbol("rows"), columns = p.symbol("columns");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({rows, fixed(9)}), pair = p.symbolicInput({fixed(2), rows, fixed(9)});
  p.output(p.relu(p.contract("mk,kn->mn", x, p.constant({9, 48}))));
  p.output(p.contract("bmk,kn->bmn", pair, p.constant({9, 32})));
  p.output(
      p.relu(p.contract("mk,kn->mn", p.constant({13, 9}), p.symbolicInput({fixed(9), columns}))));
  p.output(p.contract("mk,kn->mn", x, p.symbolicInput({fixed(9), columns})));
  for (int64_t size = 2; size < 18; ++size)
    p.check({size, 2 * size + 29});
}

/// No tile of whole vectors divides these columns; one of two rows or more reads them in vectors.
TEST(CompiledContract, ConstantWeightsOfOddWidths) {
  for (int64_t width : {250, 1030, 4099}) {
    CompiledProgram p;
    AffineExpr rows = p.symbol("rows");
    Value x = p.symbolicInput({rows, constantDim(70, p.context())});
    p.output(p.sum({p.contract("mk,nk->mn", x, p.constant({width, 70})), p.constant({width})}));
    for (int64_t count : {1, 2, 25})
      p.check({count});
    EXPECT_EQ(p.kernels(), 1);
  }
}

TEST(CompiledContraction, BothOperandsLieAlongTheSum) {
  for (const char *target : {"cpu", "cpu:x86-64-v3"})
    for (auto [m, n, k] : {std::array<int64_t, 3>{27, 27, 64},
                           {9, 40, 24},
                           {5, 8, 8},
                           {6, 7, 100},
                           {64, 130, 17},
                           {8, 16, 1}}) {
      CompiledProgram p;
      p.target = target;
      AffineExpr batch = p.symbol("batch");
      auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
      Type f64 = p.builder().getF64Type();
      Value a = p.symbolicInput({batch, fixed(m), fixed(k)});
      p.output(p.contract("bmk,bnk->bmn", a, a));
      p.output(p.contract("bmk,bnk->bmn", a, p.symbolicInput({batch, fixed(n), fixed(k)})));
      p.output(p.relu(p.contract("bmk,bnk->bmn", a, p.symbolicInput({batch, fixed(n), fixed(k)}))));
      p.output(p.contract("bmk,bnk->bmn", p.input({20, m, k}, f64), p.input({20, n, k}, f64)));
      p.output(p.contract("bcmk,bcnk->bcmn", p.input({3, 2, m, k}), p.input({3, 2, n, k})));
      p.output(p.contract("bmk,bnk->bnm", a, p.symbolicInput({batch, fixed(n), fixed(k)})));
      for (int64_t size : {0, 1, 2, 37})
        p.check({size});
    }
}

} // namespace
} // namespace headrace
