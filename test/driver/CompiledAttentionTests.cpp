// Compiled attention against the reference: by every expansion, around the boundaries of blocks,
// and as what it is recognized in.
#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

using Sizes = std::vector<int64_t>;

class EveryAttention : public testing::TestWithParam<const char *> {
protected:
  static Value attend(CompiledProgram &p, ArrayRef<Value> operands, bool causal = false,
                      bool zeroMasked = false, double scale = 0.3) {
    Value bias = operands.size() == 4 ? operands[3] : Value();
    return p.add<hr::AttentionOp>(operands[0], operands[1], operands[2], bias, APFloat(scale),
                                  causal, zeroMasked);
  }
};
INSTANTIATE_TEST_SUITE_P(Attention, EveryAttention, testing::Values("generated", "openblas"));

TEST_P(EveryAttention, OfAnyRankAndSize) {
  struct Case {
    Sizes leading;
    int64_t queries, keys, depth, width;
  };
  for (const Case &c :
       {Case{{}, 9, 7, 5, 3}, Case{{3}, 16, 16, 8, 8}, Case{{2, 3}, 33, 17, 24, 31},
        Case{{1, 2}, 1, 9, 4, 4}, Case{{2, 1}, 8, 1, 1, 1}, Case{{2}, 0, 5, 3, 3},
        Case{{0}, 9, 5, 3, 3}, Case{{2}, 9, 0, 3, 3}, Case{{2}, 9, 5, 0, 3}, Case{{2}, 9, 5, 3, 0},
        Case{{2}, 131, 517, 16, 8}, Case{{1}, 257, 1030, 8, 5}, Case{{2, 2, 2}, 9, 9, 4, 4}})
    for (bool causal : {false, true}) {
      CompiledProgram p;
      p.expansion = GetParam();
      auto matrices = [&](int64_t rows, int64_t columns) {
        Sizes shape = c.leading;
        shape.insert(shape.end(), {rows, columns});
        return p.input(shape);
      };
      p.output(attend(
          p, {matrices(c.queries, c.depth), matrices(c.keys, c.depth), matrices(c.keys, c.width)},
          causal));
      p.check();
    }
}

TEST_P(EveryAttention, WithABiasOfAnyShape) {
  for (const Sizes &bias : {Sizes{2, 3, 17, 9}, Sizes{17, 9}, Sizes{9}, Sizes{}, Sizes{2, 1, 1, 9},
                            Sizes{3, 17, 1}, Sizes{2, 1, 17, 9}, Sizes{1, 1, 1, 1}})
    for (bool causal : {false, true}) {
      CompiledProgram p;
      p.expansion = GetParam();
      p.output(attend(
          p, {p.input({2, 3, 17, 8}), p.input({2, 3, 9, 8}), p.input({2, 3, 9, 4}), p.input(bias)},
          causal));
      p.check();
    }
}

TEST_P(EveryAttention, ReadsAndWritesHeadsWhereTheyLie) {
  CompiledProgram p;
  p.expansion = GetParam();
  Value q = p.input({2, 40, 3, 8}), k = p.input({2, 19, 3, 8}), v = p.input({2, 19, 3, 16});
  Value y = attend(p, {p.transpose(q, {0, 2, 1, 3}), p.transpose(k, {0, 2, 1, 3}),
                       p.transpose(v, {0, 2, 1, 3})});
  p.output(p.transpose(y, {0, 2, 1, 3}));
  p.check();
  if (GetParam() == std::string("openblas"))
    EXPECT_EQ(p.kernels(), 1);
}

TEST_P(EveryAttention, ReadsTransposedRows) {
  CompiledProgram p;
  p.expansion = GetParam();
  Value q = p.input({2, 8, 40}), k = p.input({19, 2, 8}), v = p.input({16, 19, 2});
  Value y =
      attend(p, {p.transpose(q, {0, 2, 1}), p.transpose(k, {1, 0, 2}), p.transpose(v, {2, 1, 0})});
  p.output(p.transpose(y, {2, 0, 1}));
  p.output(p.relu(y));
  p.check();
}

TEST_P(EveryAttention, OverOpenSizes) {
  CompiledProgram p;
  p.expansion = GetParam();
  AffineExpr batch = p.symbol("batch"), queries = p.symbol("queries"), keys = p.symbol("keys"),
             four = constantDim(4, p.context());
  Value y = attend(p,
                   {p.symbolicInput({batch, queries, four}), p.symbolicInput({batch, keys, four}),
                    p.symbolicInput({batch, keys, four}), p.symbolicInput({queries, keys})},
                   /*causal=*/true);
  p.output(y);
  for (const Sizes &sizes : {Sizes{2, 9, 9}, Sizes{1, 1, 5}, Sizes{3, 140, 600}, Sizes{2, 0, 3},
                             Sizes{2, 3, 0}, Sizes{1, 7, 1}})
    p.check(sizes);
}

/// Rows of a bias that are -inf in part, or altogether.
TEST_P(EveryAttention, OfMaskedKeys) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (bool zeroMasked : {false, true}) {
    CompiledProgram p;
    p.expansion = GetParam();
    Value y = attend(p, {p.input({8, 4}), p.input({600, 4}), p.input({600, 2}), p.input({8, 600})},
                     /*causal=*/false, zeroMasked);
    p.output(y);
    std::vector<Tensor> inputs;
    for (const Shape &shape : {Shape{8, 4}, Shape{600, 4}, Shape{600, 2}, Shape{8, 600}})
      inputs.push_back(randomTensor(DType::F32, shape, Fill::Uniform, inputs.size()));
    float *bias = inputs[3].as<float>();
    std::fill_n(bias, 600, -infinity);            // query 0 sees nothing
    std::fill_n(bias + 600, 599, -infinity);      // query 1 the last key
    std::fill_n(bias + 1201, 599, -infinity);     // query 2 the first
    std::fill_n(bias + 1800, 600, std::nanf("")); // query 3 nothing that is a number
    Tensor result = p.run(inputs).front();
    auto at = [&](const Tensor &t, int64_t i, int64_t j) { return t.as<float>()[i * 2 + j]; };
    for (int64_t j = 0; j < 2; ++j) {
      EXPECT_TRUE(zeroMasked ? at(result, 0, j) == 0 : std::isnan(at(result, 0, j)));
      EXPECT_FLOAT_EQ(at(result, 1, j), at(inputs[2], 599, j));
      EXPECT_FLOAT_EQ(at(result, 2, j), at(inputs[2], 0, j));
      EXPECT_TRUE(std::isnan(at(result, 3, j)));
      EXPECT_TRUE(std::isfinite(at(result, 4, j)));
    }
  }
}

TEST(Attention, OfHalvesAddsUpInSingle) {
  CompiledProgram p;
  Type f16 = p.builder().getF16Type();
  Value q = p.input({2, 9, 16}, f16), k = p.input({2, 300, 16}, f16), v = p.input({2, 300, 8}, f16);
  p.output(p.add<hr::AttentionOp>(q, k, v, Value(), APFloat(0.25), false, false));
  p.check();
}

/// Scores that are products of any form, in any order of dimensions.
TEST_P(EveryAttention, IsRecognizedInItsParts) {
  struct Case {
    const char *scores, *mixed;
    Sizes query, key, value;
    bool keysFirst = false, valuesFirst = false;
  };
  for (const Case &c : {
           Case{"bhid,bhjd->bhij", "bhij,bhje->bhie", {2, 3, 17, 8}, {2, 3, 9, 8}, {2, 3, 9, 4}},
           Case{"bihd,bjhd->bhij", "bhij,bjhe->bihe", {2, 17, 3, 8}, {2, 9, 3, 8}, {2, 9, 3, 4}},
           Case{"bhid,bhdj->hbij", "hbij,bhje->eibh", {2, 3, 17, 8}, {2, 3, 8, 9}, {2, 3, 9, 4}},
           Case{"jd,id->ij", "je,ij->ie", {17, 8}, {9, 8}, {9, 4}, true, true},
       }) {
    CompiledProgram p;
    p.expansion = GetParam();
    Value q = p.input(c.query), k = p.input(c.key), v = p.input(c.value), bias = p.input({9});
    Value scores = p.contract(c.scores, c.keysFirst ? k : q, c.keysFirst ? q : k);
    Value eight = p.constant({});
    Value scaled = p.map({scores, eight}, [&](OpBuilder &b, ValueRange s) -> Value {
      return b.create<arith::DivFOp>(p.loc(), s[0], s[1]);
    });
    Value biased = p.sum({bias, scaled});
    int64_t last = cast<RankedTensorType>(biased.getType()).getRank() - 1;
    Value weights = p.add<hr::SoftmaxOp>(biased, last, false);
    p.output(p.contract(c.mixed, c.valuesFirst ? v : weights, c.valuesFirst ? weights : v));
    p.check();
    if (GetParam() == std::string("openblas"))
      EXPECT_EQ(p.routines().back(), "openblas.biased_attention") << c.scores;
  }
}

} // namespace
} // namespace headrace
