// Gradients of operators, with odd attributes.
#include "GradientProgram.h"

using namespace mlir;

namespace headrace {
namespace {

using hr::ChannelLayout;
using hr::PoolKind;
using hr::ReduceKind;
using List = std::vector<int64_t>;

//===----------------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------------===//

struct ContractCase {
  const char *name, *letters;
  List lhs, rhs;
};
void PrintTo(const ContractCase &c, std::ostream *os) { *os << c.name; }
class GradientContract : public testing::TestWithParam<ContractCase> {};

TEST_P(GradientContract, IsTheSlope) {
  const ContractCase &c = GetParam();
  GradientProgram p;
  Value a = p.input(c.lhs), b = p.input(c.rhs);
  p.output(p.contract(c.letters, a, b));
  p.checkGradient();
}

const ContractCase kContractions[] = {
    {"matrices", "mk,kn->mn", {3, 4}, {4, 5}},
    {"transposed", "mk,nk->nm", {3, 4}, {5, 4}},
    {"batched", "bmk,bkn->bmn", {2, 3, 4}, {2, 4, 5}},
    {"sharedWeights", "bmk,kn->bnm", {2, 3, 4}, {4, 2}},
    {"vector", "mk,k->m", {3, 4}, {4}},
    {"inner", "k,k->", {4}, {4}},
    {"outer", "m,n->mn", {3}, {2}},
    {"summedAlone", "mjk,ln->mn", {3, 2, 2}, {2, 4}},
    {"elementwise", "mn,mn->mn", {3, 2}, {3, 2}},
};
INSTANTIATE_TEST_SUITE_P(Maps, GradientContract, testing::ValuesIn(kContractions),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(GradientAttention, IsTheSlope) {
  for (bool causal : {false, true}) {
    GradientProgram p;
    Value bias = p.input({3, 5});
    p.output(p.add<hr::AttentionOp>(p.input({2, 3, 4}), p.input({2, 5, 4}), p.input({2, 5, 2}),
                                    bias, APFloat(0.7), causal, /*zero_masked=*/false));
    p.checkGradient();
  }
}

//===----------------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------------===//

struct ConvCase {
  const char *name;
  List image, filter, strides, dilations, pads;
  int64_t groups = 1;
  ChannelLayout layout = ChannelLayout::First;
};
void PrintTo(const ConvCase &c, std::ostream *os) { *os << c.name; }
class GradientConv : public testing::TestWithParam<ConvCase> {};

TEST_P(GradientConv, IsTheSlope) {
  const ConvCase &c = GetParam();
  GradientProgram p;
  Value x = p.input(c.image), w = p.input(c.filter);
  p.output(p.add<hr::ConvOp>(x, w, c.strides, c.dilations, c.pads, c.groups, c.layout, TypeAttr()));
  p.checkGradient();
}

const ConvCase kConvolutions[] = {
    {"plain", {2, 2, 4, 5}, {3, 2, 2, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"padded", {1, 2, 4, 3}, {2, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"oddPads", {1, 1, 4, 3}, {2, 1, 2, 3}, {1, 1}, {1, 1}, {0, 2, 1, 0}},
    {"strided", {1, 2, 6, 7}, {2, 2, 3, 2}, {2, 3}, {1, 1}, {1, 0, 1, 1}},
    {"dilated", {1, 1, 6, 7}, {2, 1, 2, 3}, {1, 1}, {3, 2}, {1, 1, 0, 2}},
    {"stridedAndDilated", {1, 1, 7, 6}, {1, 1, 2, 2}, {2, 2}, {2, 3}, {1, 1, 1, 1}},
    {"tapsInPadding", {1, 2, 4, 3}, {2, 2, 3, 3}, {1, 1}, {5, 2}, {5, 2, 5, 2}},
    {"grouped", {1, 4, 4, 3}, {6, 2, 2, 2}, {1, 1}, {1, 1}, {1, 0, 0, 0}, 2},
    {"depthwise", {2, 3, 4, 4}, {3, 1, 3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}, 3},
    {"pointwise", {2, 3, 2, 2}, {4, 3, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"pointwiseStrided", {1, 2, 5, 4}, {3, 2, 1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {"padsBeyondTheWindow", {1, 1, 3, 3}, {1, 1, 2, 2}, {1, 1}, {1, 1}, {2, 2, 3, 2}},
    {"windowOfTheImage", {1, 2, 3, 3}, {2, 2, 3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"oneDimension", {2, 2, 7}, {3, 2, 3}, {2}, {2}, {1, 2}},
    {"threeDimensions", {1, 1, 3, 4, 3}, {2, 1, 2, 2, 2}, {1, 2, 1}, {1, 1, 1}, {0, 1, 0, 1, 0, 0}},
    {"channelsLast",
     {1, 4, 5, 2},
     {3, 2, 2, 3},
     {1, 2},
     {1, 1},
     {1, 0, 1, 1},
     1,
     ChannelLayout::Last},
    {"channelsLastGrouped",
     {1, 4, 4, 4},
     {2, 2, 2, 6},
     {1, 1},
     {1, 2},
     {1, 1, 0, 0},
     2,
     ChannelLayout::Last},
};
INSTANTIATE_TEST_SUITE_P(Windows, GradientConv, testing::ValuesIn(kConvolutions),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(GradientOfConv, OfASymbolicBatch) {
  for (int64_t size : {0, 1, 3}) {
    GradientProgram p;
    auto dim = [&](int64_t value) { return constantDim(value, p.context()); };
    AffineExpr batch = p.symbol("batch");
    Value x = p.symbolicInput({batch, dim(2), dim(4), dim(4)}, p.f64()), w = p.input({3, 2, 3, 3});
    p.output(p.add<hr::ConvOp>(x, w, List{2, 1}, List{1, 1}, List{1, 1, 1, 1}, 1,
                               ChannelLayout::First, TypeAttr()));
    p.checkGradient({size});
  }
}

TEST(GradientOfConv, OfASymbolicImage) {
  for (int64_t size : {4, 5, 6}) {
    GradientProgram p;
    auto dim = [&](int64_t value) { return constantDim(value, p.context()); };
    AffineExpr height = p.symbol("height");
    Value x = p.symbolicInput({dim(1), dim(2), height, dim(4)}, p.f64()), w = p.input({2, 2, 3, 3});
    p.output(p.add<hr::ConvOp>(x, w, List{2, 1}, List{1, 1}, List{1, 1, 1, 1}, 1,
                               ChannelLayout::First, TypeAttr()));
    p.checkGradient({size});
  }
}

TEST(GradientOfConv, HasAGradient) {
  // The gradient of the gradient: every operator that a convolution's gradient is made of.
  GradientProgram p;
  Value x = p.input({1, 1, 4, 4}), w = p.input({1, 1, 2, 2});
  p.output(p.add<hr::ConvOp>(x, w, List{2, 1}, List{1, 1}, List{1, 0, 0, 1}, 1,
                             ChannelLayout::First, TypeAttr()));
  LevelOneProgram once = p.gradient();
  LevelOneProgram twice = differentiated({"test", once.context, once.module->clone()}, {});
  EXPECT_EQ(twice.module->lookupSymbol<func::FuncOp>("main").getNumResults(), 6u);
}

//===----------------------------------------------------------------------------===//
// Poolings
//===----------------------------------------------------------------------------===//

struct PoolCase {
  const char *name;
  PoolKind kind;
  List image, window, strides, dilations, pads;
  bool includePad = false;
  ChannelLayout layout = ChannelLayout::First;
};
void PrintTo(const PoolCase &c, std::ostream *os) { *os << c.name; }
class GradientPool : public testing::TestWithParam<PoolCase> {};

TEST_P(GradientPool, IsTheSlope) {
  const PoolCase &c = GetParam();
  GradientProgram p;
  Value x = p.input(c.image);
  p.output(p.add<hr::PoolOp>(x, c.kind, c.window, c.strides, c.dilations, c.pads, c.includePad,
                             c.layout));
  p.checkGradient();
}

constexpr PoolKind kMax = PoolKind::Max, kAverage = PoolKind::Average, kSum = PoolKind::Sum;
const PoolCase kPoolings[] = {
    {"maxSideBySide", kMax, {2, 3, 4, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {"maxWithRemainder", kMax, {1, 2, 5, 7}, {2, 3}, {2, 3}, {1, 1}, {0, 0, 0, 0}},
    {"maxOverlapping", kMax, {1, 2, 6, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"maxDilated", kMax, {1, 1, 7, 6}, {2, 3}, {1, 2}, {3, 2}, {1, 1, 0, 1}},
    {"maxWithGaps", kMax, {1, 1, 7, 6}, {2, 1}, {3, 2}, {1, 1}, {0, 0, 0, 0}},
    {"maxChannelsLast",
     kMax,
     {1, 4, 6, 3},
     {2, 2},
     {2, 2},
     {1, 1},
     {0, 0, 0, 0},
     false,
     ChannelLayout::Last},
    {"maxOneDimension", kMax, {2, 2, 9}, {3}, {2}, {1}, {1, 0}},
    {"average", kAverage, {1, 2, 4, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {"averageWithRemainder", kAverage, {1, 2, 5, 4}, {2, 3}, {2, 3}, {1, 1}, {0, 0, 0, 0}},
    {"averagePadded", kAverage, {1, 1, 5, 4}, {3, 2}, {2, 1}, {1, 1}, {1, 1, 1, 0}},
    {"averageOfPads", kAverage, {1, 1, 5, 4}, {3, 2}, {1, 2}, {1, 1}, {1, 1, 1, 1}, true},
    {"sumDilated", kSum, {1, 1, 6, 7}, {2, 2}, {1, 2}, {2, 3}, {0, 1, 1, 0}},
};
INSTANTIATE_TEST_SUITE_P(Windows, GradientPool, testing::ValuesIn(kPoolings),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(GradientOfPool, GivesEqualMaximaToTheFirst) {
  GradientProgram p;
  Value x = p.input({1, 1, 2, 4});
  p.output(p.add<hr::PoolOp>(x, kMax, List{2, 2}, List{2, 2}, List{1, 1}, List{0, 0, 0, 0}, false,
                             ChannelLayout::First));
  LevelOneProgram joint = p.gradient();
  CompiledProgram compiled([&] {
    std::string text;
    llvm::raw_string_ostream os(text);
    joint.module->print(os);
    return text;
  }());
  Tensor image = Tensor::allocate(DType::F64, {1, 1, 2, 4});
  Tensor dy = Tensor::allocate(DType::F64, {1, 1, 1, 2});
  std::copy_n(std::vector<double>{0, 0, 1, 2, 0, 0, 2, 2}.data(), 8, image.as<double>());
  std::copy_n(std::vector<double>{3, 5}.data(), 2, dy.as<double>());
  std::vector<Tensor> results = compiled.run({image, dy});
  std::vector<double> gradient(results[1].as<double>(), results[1].as<double>() + 8);
  EXPECT_EQ(gradient, (std::vector<double>{3, 0, 0, 5, 0, 0, 0, 0}));
}

//===----------------------------------------------------------------------------===//
// Reductions and normalizations
//===----------------------------------------------------------------------------===//

TEST(GradientOfReduce, OfEveryKindAndAxis) {
  for (ReduceKind kind :
       {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod})
    for (List axes : {List{0}, List{1}, List{2}, List{0, 2}, List{0, 1, 2}})
      for (bool keepDims : {false, true}) {
        GradientProgram p;
        p.output(p.reduce(kind, p.input({2, 3, 4}), axes, keepDims));
        p.checkGradient({}, Numbers::Any, /*compiled=*/axes.size() < 3 && keepDims);
      }
}

TEST(GradientOfReduce, OfProductsWithZeros) {
  GradientProgram p;
  Value x = p.input({3, 4}), mask = p.constant({3, 4});
  Value zeroed = p.map({x, mask}, [&](OpBuilder &b, ValueRange v) -> Value {
    Value none = b.create<arith::ConstantOp>(p.loc(), b.getFloatAttr(v[0].getType(), -1));
    Value drop = b.create<arith::CmpFOp>(p.loc(), arith::CmpFPredicate::OLT, v[1], none);
    Value zero = b.create<arith::SubFOp>(p.loc(), v[0], v[0]);
    return b.create<arith::SelectOp>(p.loc(), drop, zero, v[0]);
  });
  p.output(p.reduce(ReduceKind::Prod, zeroed, {1}));
  p.checkGradient();
}

TEST(GradientOfReduce, OfASymbolicMean) {
  for (int64_t size : {1, 4}) {
    GradientProgram p;
    AffineExpr batch = p.symbol("batch");
    Value x = p.symbolicInput({batch, constantDim(3, p.context())}, p.f64());
    p.output(p.reduce(ReduceKind::Mean, x, {0}));
    p.checkGradient({size});
  }
}

TEST(GradientOfSoftmax, AlongEveryAxis) {
  for (bool log : {false, true})
    for (int64_t axis : {0, 1, 2}) {
      GradientProgram p;
      p.output(p.add<hr::SoftmaxOp>(p.input({2, 3, 4}), axis, log));
      p.checkGradient();
    }
}

TEST(GradientOfLayerNorm, WithAndWithoutBias) {
  for (int64_t axis : {1, 2})
    for (bool bias : {false, true}) {
      GradientProgram p;
      Value x = p.input({3, 2, 4});
      List shape = axis == 1 ? List{2, 4} : List{4};
      Value scale = p.input(shape), shift = bias ? p.input(shape) : Value();
      p.output(p.add<hr::LayerNormOp>(x.getType(), x, scale, shift, axis, llvm::APFloat(1e-3)));
      p.checkGradient();
    }
}

TEST(GradientOfBatchNorm, OfAllParameters) {
  for (ChannelLayout layout : {ChannelLayout::First, ChannelLayout::Last}) {
    GradientProgram p;
    Value x = p.input(layout == ChannelLayout::First ? List{2, 3, 2, 2} : List{2, 2, 2, 3});
    Value scale = p.input({3}), bias = p.input({3}), mean = p.input({3}), variance = p.input({3});
    p.output(p.add<hr::BatchNormOp>(x, scale, bias, mean, variance, llvm::APFloat(1e-3), layout));
    p.checkGradient({}, Numbers::Positive);
  }
}

TEST(GradientOfBatchNorm, OfTrainingIsThatOfItsStatistics) {
  GradientProgram p;
  Value x = p.input({3, 2, 2, 2}), scale = p.input({2, 1, 1}), bias = p.input({2, 1, 1});
  List axes{0, 2, 3};
  Value mean = p.reduce(ReduceKind::Mean, x, axes, true);
  Value centered = p.map({x, mean}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::SubFOp>(p.loc(), v[0], v[1]);
  });
  Value squares = p.map({centered}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::MulFOp>(p.loc(), v[0], v[0]);
  });
  Value variance = p.reduce(ReduceKind::Mean, squares, axes, true);
  p.output(p.map({centered, variance, scale, bias}, [&](OpBuilder &b, ValueRange v) -> Value {
    Value e = b.create<arith::ConstantOp>(p.loc(), b.getFloatAttr(v[0].getType(), 1e-3));
    Value root = b.create<math::SqrtOp>(p.loc(), b.create<arith::AddFOp>(p.loc(), v[1], e));
    Value normal = b.create<arith::DivFOp>(p.loc(), v[0], root);
    Value scaled = b.create<arith::MulFOp>(p.loc(), normal, v[2]);
    return b.create<arith::AddFOp>(p.loc(), scaled, v[3]);
  }));
  p.checkGradient();
}

//===----------------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------------===//

/// Results are squared, so that gradients differ from element to element.
Value squared(GradientProgram &p, Value x) {
  return p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::MulFOp>(p.loc(), v[0], v[0]);
  });
}

Value sliced(GradientProgram &p, Value x, List starts, List steps, List sizes) {
  SmallVector<AffineExpr> exprs;
  for (int64_t start : starts)
    exprs.push_back(constantDim(start, p.context()));
  return p.add<hr::SliceOp>(RankedTensorType::get(sizes, p.f64()), x,
                            AffineMapAttr::get(symbolMap(exprs, p.context())),
                            p.builder().getDenseI64ArrayAttr(steps));
}

TEST(GradientOfMovement, TransposeReshapeBroadcast) {
  GradientProgram p;
  Value x = p.input({2, 3, 4});
  Value moved = p.transpose(x, {2, 0, 1});
  Value shaped = p.reshape(moved, {4, 1, 6});
  p.output(
      squared(p, p.add<hr::BroadcastOp>(RankedTensorType::get({2, 4, 3, 6}, p.f64()), shaped)));
  p.checkGradient();
}

TEST(GradientOfMovement, SlicesOfAnyStep) {
  struct {
    List starts, steps, sizes;
  } cases[] = {{{1, 0}, {1, 1}, {2, 5}},  {{0, 1}, {3, 2}, {2, 2}}, {{4, 4}, {-1, -2}, {5, 3}},
               {{3, 0}, {-2, 2}, {2, 3}}, {{2, 3}, {1, 1}, {0, 2}}, {{4, 1}, {-4, 1}, {1, 1}}};
  for (auto &c : cases) {
    GradientProgram p;
    p.output(squared(p, sliced(p, p.input({5, 5}), c.starts, c.steps, c.sizes)));
    p.checkGradient();
  }
}

TEST(GradientOfMovement, SliceOfASymbolicSize) {
  for (int64_t size : {2, 5}) {
    GradientProgram p;
    AffineExpr n = p.symbol("n");
    Value x = p.symbolicInput({n, constantDim(3, p.context())}, p.f64());
    // The first half backwards.
    SmallVector<AffineExpr> starts{n.floorDiv(2) - 1, constantDim(0, p.context())};
    Type type = tensorType({n.floorDiv(2), constantDim(3, p.context())}, p.f64());
    Value half = p.add<hr::SliceOp>(type, x, AffineMapAttr::get(symbolMap(starts, p.context())),
                                    p.builder().getDenseI64ArrayAttr({-1, 1}));
    p.output(squared(p, half));
    p.checkGradient({size});
  }
}

TEST(GradientOfMovement, ConcatOfPartsThatShareAnInput) {
  GradientProgram p;
  Value a = p.input({2, 3}), b = p.input({2, 1});
  p.output(squared(p, p.add<hr::ConcatOp>(ValueRange{a, b, a}, 1)));
  p.checkGradient();
}

TEST(GradientOfMovement, PadsThatAddAndCut) {
  GradientProgram p;
  Value x = p.input({4, 5});
  p.output(squared(
      p, p.add<hr::PadOp>(x, List{1, -1}, List{-2, 2}, p.builder().getFloatAttr(p.f64(), 3))));
  p.checkGradient();
}

TEST(GradientOfReductions, CumulativeSumsFromEitherEnd) {
  for (bool exclusive : {false, true})
    for (bool reverse : {false, true}) {
      GradientProgram p;
      Value x = p.input({2, 4, 3});
      p.output(squared(p, p.add<hr::ScanOp>(x, hr::ReduceKind::Sum, 1, exclusive, reverse)));
      p.checkGradient();
    }
}

TEST(GradientOfMovement, GatherAddsWhatIsPickedOften) {
  for (int64_t axis : {0, 1, 2}) {
    GradientProgram p;
    Value x = p.input({3, 4, 2});
    Value indices = p.CompiledProgram::input({2, 3}, p.builder().getI64Type());
    p.output(squared(p, p.add<hr::GatherOp>(x, indices, axis)));
    p.checkGradient();
  }
}

TEST(GradientOfMovement, ScatterIntoDataAddsOrReplaces) {
  for (bool adds : {true, false}) {
    GradientProgram p;
    Value x = p.input({2, 2, 3}), data = p.input({2, 4, 3});
    auto type = RankedTensorType::get({2}, p.builder().getI64Type());
    Value indices = p.add<hr::ConstantOp>(DenseElementsAttr::get(type, ArrayRef<int64_t>{3, 1}));
    auto kind =
        adds ? hr::ReduceKindAttr::get(p.context(), hr::ReduceKind::Sum) : hr::ReduceKindAttr();
    p.output(squared(p, p.add<hr::ScatterOp>(data.getType(), x, indices, data, kind)));
    p.checkGradient();
  }
}

TEST(GradientOfMovement, OperatorsOfGradientsHaveGradients) {
  GradientProgram p;
  Value x = p.input({2, 3, 2});
  Value indices = p.CompiledProgram::input({3}, p.builder().getI64Type());
  Value added = p.add<hr::ScatterOp>(RankedTensorType::get({2, 4, 2}, p.f64()), x, indices, Value(),
                                     hr::ReduceKindAttr::get(p.context(), hr::ReduceKind::Sum));
  p.output(squared(p, added));
  SmallVector<AffineExpr> starts{constantDim(1, p.context()), constantDim(0, p.context()),
                                 constantDim(2, p.context())};
  p.output(squared(p, p.add<hr::PlaceOp>(RankedTensorType::get({5, 3, 6}, p.f64()), x,
                                         AffineMapAttr::get(symbolMap(starts, p.context())),
                                         p.builder().getDenseI64ArrayAttr({3, 1, 2}))));
  p.checkGradient();
}

} // namespace
} // namespace headrace
