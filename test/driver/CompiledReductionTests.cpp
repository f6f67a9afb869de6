// Compiled reductions and what is built from them, against the reference.
#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

using hr::ReduceKind;

constexpr ReduceKind kKinds[] = {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max,
                                 ReduceKind::Min, ReduceKind::Prod};

/// The axes whose bits are set.
SmallVector<int64_t> axesOf(int mask) {
  SmallVector<int64_t> axes;
  for (int i = 0; i < 8; ++i)
    if (mask >> i & 1)
      axes.push_back(i);
  return axes;
}

class EveryAxisSubset : public testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(EveryAxisSubset, WithAndWithoutKeptDimensions) {
  const std::vector<int64_t> &shape = GetParam();
  CompiledProgram p;
  Value x = p.input(shape);
  for (int mask = 0; mask < 1 << shape.size(); ++mask)
    for (bool keep : {false, true}) {
      p.output(p.reduce(ReduceKind::Sum, x, axesOf(mask), keep));
      p.output(p.reduce(ReduceKind::Max, x, axesOf(mask), keep));
    }
  p.check();
}

INSTANTIATE_TEST_SUITE_P(CompiledReduce, EveryAxisSubset,
                         testing::Values(std::vector<int64_t>{}, std::vector<int64_t>{131},
                                         std::vector<int64_t>{7, 97},
                                         std::vector<int64_t>{5, 1, 33},
                                         std::vector<int64_t>{3, 5, 64},
                                         std::vector<int64_t>{2, 3, 4, 17}));

TEST(CompiledReduce, EveryKindAndType) {
  CompiledProgram p;
  OpBuilder &b = p.builder();
  for (Type type : {Type(b.getF32Type()), Type(b.getF64Type()), Type(b.getI8Type()),
                    Type(b.getI32Type()), Type(b.getI64Type())}) {
    Value x = p.input({5, 37}, type);
    for (ReduceKind kind : kKinds)
      for (int mask : {1, 2, 3})
        p.output(p.reduce(kind, x, axesOf(mask), mask == 2));
  }
  p.check();
}

TEST(CompiledReduce, HalfPrecisionIsSummedInSingle) {
  CompiledProgram p;
  for (Type type : {Type(p.builder().getF16Type()), Type(p.builder().getBF16Type())}) {
    Value x = p.input({5, 997}, type);
    for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min})
      for (int mask : {1, 2, 3})
        p.output(p.reduce(kind, x, axesOf(mask)));
    p.output(p.add<hr::SoftmaxOp>(x, 1, false));
  }
  p.check();
}

TEST(CompiledReduce, Booleans) {
  CompiledProgram p;
  Value x = p.input({5, 37}, p.builder().getI1Type());
  for (ReduceKind kind : {ReduceKind::Max, ReduceKind::Min})
    for (int mask : {1, 2, 3})
      p.output(p.reduce(kind, x, axesOf(mask)));
  p.check();
}

TEST(CompiledReduce, EmptyAxesYieldTheNeutralElement) {
  CompiledProgram p;
  Value x = p.input({3, 0}), none = p.input({0, 5});
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod}) {
    p.output(p.reduce(kind, x, {1}));
    p.output(p.reduce(kind, x, {0, 1}));
    p.output(p.reduce(kind, x, {0}));
    p.output(p.reduce(kind, none, {0}, true));
    p.output(p.reduce(kind, none, {1}));
  }
  p.check();
}

TEST(CompiledReduce, NotANumberWins) {
  CompiledProgram p;
  Value x = p.input({131, 3}), y = p.input({7, 97});
  for (ReduceKind kind : {ReduceKind::Max, ReduceKind::Min}) {
    p.output(p.reduce(kind, x, {1}));
    p.output(p.reduce(kind, y, {0}));
    p.output(p.reduce(kind, y, {1}));
  }
  p.check({}, Fill::Special);
}

/// Reductions over dynamic dimensions, between other functions or of the inputs themselves.
TEST(CompiledReduce, OpenSizesAlongSeveralAxes) {
  for (Fill fill : {Fill::Uniform, Fill::Special}) {
    CompiledProgram p;
    SymbolicShape shape{p.symbol("a"), p.symbol("b"), p.symbol("c")};
    for (ReduceKind kind : kKinds)
      for (int mask : {4, 5, 6, 7}) {
        bool isPlain = fill == Fill::Special;
        if (isPlain && kind != ReduceKind::Max && kind != ReduceKind::Min)
          continue;
        Value x = p.symbolicInput(shape);
        Value reduced = p.reduce(kind, isPlain ? x : p.exp(x), axesOf(mask));
        p.output(isPlain ? reduced : p.relu(reduced));
      }
    for (auto sizes : {CompiledProgram::Sizes{2, 3, 5}, {3, 4, 33}, {5, 2, 131}, {2, 2, 500}})
      p.check(sizes, fill);
  }
}

TEST(CompiledReduce, LastAxisAndAnother) {
  CompiledProgram p;
  for (ReduceKind kind : kKinds)
    for (int64_t length : {3, 33, 70})
      p.output(p.reduce(kind, p.input({6, 5, length}), {0, 2}));
  p.check();
}

TEST(CompiledReduce, LongRows) {
  CompiledProgram p;
  for (int64_t length : {4096, 65536, 65537, 100003}) {
    Value x = p.input({3, length});
    p.output(p.reduce(ReduceKind::Max, x, {1}));
    p.output(p.reduce(ReduceKind::Mean, x, {1}, true));
    p.output(p.reduce(ReduceKind::Sum, p.exp(x), {0}));
  }
  p.check();
}

TEST(CompiledReduce, FusesWhatItReads) {
  CompiledProgram p;
  Value x = p.input({7, 131}), y = p.input({131});
  p.output(p.reduce(ReduceKind::Sum, p.exp(p.sum({x, y})), {1}));
  p.check();
  EXPECT_EQ(p.kernels(), 1);
}

TEST(CompiledReduce, OfTransposedAndBroadcastValues) {
  CompiledProgram p;
  Value x = p.input({7, 5, 17});
  for (int mask = 1; mask < 8; ++mask) {
    p.output(p.reduce(ReduceKind::Sum, p.transpose(x, {2, 0, 1}), axesOf(mask)));
    p.output(p.reduce(ReduceKind::Sum, p.sum({p.input({5, 1}), x}), axesOf(mask)));
    Value repeated =
        p.add<hr::BroadcastOp>(RankedTensorType::get({3, 5, 7}, p.f32()), p.input({5, 1}));
    p.output(p.reduce(ReduceKind::Sum, repeated, axesOf(mask)));
  }
  p.check();
}

TEST(CompiledReduce, SymbolicSizes) {
  CompiledProgram p;
  AffineExpr batch = p.symbol("batch"), length = p.symbol("length");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({batch, fixed(17)}), y = p.symbolicInput({batch, length});
  Value z = p.symbolicInput({fixed(3), length, batch});
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max}) {
    for (int mask : {1, 2, 3}) {
      p.output(p.reduce(kind, x, axesOf(mask), mask == 1));
      p.output(p.reduce(kind, y, axesOf(mask), mask == 2));
    }
    p.output(p.reduce(kind, z, {0, 1}));
    p.output(p.reduce(kind, z, {2}));
    p.output(p.reduce(kind, z, {0, 2}, true));
  }
  for (int64_t first : {1, 2, 7, 33})
    for (int64_t second : {1, 5, 97})
      p.check({first, second});
}

class EverySoftmax : public testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(EverySoftmax, AlongEveryAxis) {
  const std::vector<int64_t> &shape = GetParam();
  CompiledProgram p;
  Value x = p.input(shape);
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
    for (bool log : {false, true})
      p.output(p.add<hr::SoftmaxOp>(x, axis, log));
  p.check();
}

INSTANTIATE_TEST_SUITE_P(CompiledRows, EverySoftmax,
                         testing::Values(std::vector<int64_t>{1}, std::vector<int64_t>{131},
                                         std::vector<int64_t>{7, 97}, std::vector<int64_t>{7, 1},
                                         std::vector<int64_t>{1, 97}, std::vector<int64_t>{3, 0},
                                         std::vector<int64_t>{2, 70000},
                                         std::vector<int64_t>{3, 5, 64},
                                         std::vector<int64_t>{2, 3, 4, 17}));

class EveryLayerNorm : public testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(EveryLayerNorm, FromEveryAxisOn) {
  const std::vector<int64_t> &shape = GetParam();
  CompiledProgram p;
  Value x = p.input(shape);
  FloatAttr epsilon = p.builder().getF64FloatAttr(1e-5);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    ArrayRef<int64_t> row = ArrayRef(shape).drop_front(axis);
    Value scale = p.input(row), bias = p.constant(row);
    for (Value shift : {bias, Value()})
      p.output(p.add<hr::LayerNormOp>(x.getType(), x, scale, shift,
                                      p.builder().getI64IntegerAttr(axis), epsilon));
  }
  p.check();
}

INSTANTIATE_TEST_SUITE_P(CompiledRows, EveryLayerNorm,
                         testing::Values(std::vector<int64_t>{131}, std::vector<int64_t>{7, 97},
                                         std::vector<int64_t>{7, 1}, std::vector<int64_t>{1, 64},
                                         std::vector<int64_t>{2, 70000},
                                         std::vector<int64_t>{3, 5, 64},
                                         std::vector<int64_t>{2, 3, 4, 17}));

TEST(CompiledRows, SoftmaxAndLayerNormAreOneKernel) {
  CompiledProgram softmax;
  softmax.output(softmax.add<hr::SoftmaxOp>(softmax.input({6, 97}), 1, false));
  softmax.check();
  EXPECT_EQ(softmax.kernels(), 1);

  CompiledProgram norm;
  Value x = norm.input({6, 97});
  norm.output(norm.add<hr::LayerNormOp>(x.getType(), x, norm.input({97}), norm.input({97}),
                                        norm.builder().getI64IntegerAttr(1),
                                        norm.builder().getF64FloatAttr(1e-5)));
  norm.check();
  EXPECT_EQ(norm.kernels(), 1);
}

TEST(CompiledRows, WorkBeforeAndAfterASoftmaxFuses) {
  CompiledProgram p;
  Value x = p.input({6, 5, 97}), mask = p.input({97});
  Value y = p.add<hr::SoftmaxOp>(p.sum({x, mask}), 2, false);
  p.output(p.exp(y));
  p.check();
  EXPECT_EQ(p.kernels(), 1);
}

TEST(CompiledRows, SymbolicSizes) {
  CompiledProgram p;
  AffineExpr batch = p.symbol("batch"), length = p.symbol("length");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({batch, fixed(37)}), y = p.symbolicInput({batch, length});
  for (Value value : {x, y})
    for (int64_t axis : {0, 1})
      p.output(p.add<hr::SoftmaxOp>(value, axis, false));
  p.output(p.add<hr::LayerNormOp>(x.getType(), x, p.input({37}), Value(),
                                  p.builder().getI64IntegerAttr(1),
                                  p.builder().getF64FloatAttr(1e-5)));
  p.output(p.add<hr::LayerNormOp>(y.getType(), y, p.symbolicInput({length}), Value(),
                                  p.builder().getI64IntegerAttr(1),
                                  p.builder().getF64FloatAttr(1e-5)));
  for (int64_t first : {1, 2, 7, 33})
    for (int64_t second : {1, 5, 97, 5000})
      p.check({first, second});
}

TEST(CompiledRows, InfiniteLogitsAreMaskedOut) {
  CompiledProgram p;
  Value x = p.input({5, 37}), keep = p.input({5, 37}, p.builder().getI1Type());
  Value masked = p.map({keep, x}, [&](OpBuilder &b, ValueRange v) -> Value {
    Value minus = b.create<arith::ConstantOp>(
        p.loc(), b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    return b.create<arith::SelectOp>(p.loc(), v[0], v[1], minus);
  });
  p.output(p.add<hr::SoftmaxOp>(masked, 1, false));
  p.check();
}

} // namespace
} // namespace headrace
