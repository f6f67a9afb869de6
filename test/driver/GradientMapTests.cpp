// Gradients of maps: any scalar function, by symbolic differentiation.
#include "GradientProgram.h"

using namespace mlir;

namespace headrace {
namespace {

using Function = Value (*)(OpBuilder &, Location, ValueRange);

template <class Op> Value apply(OpBuilder &b, Location loc, ValueRange v) {
  return b.create<Op>(loc, v[0]);
}
template <class Op> Value apply2(OpBuilder &b, Location loc, ValueRange v) {
  return b.create<Op>(loc, v[0], v[1]);
}
Value number(OpBuilder &b, Location loc, Value like, double value) {
  return b.create<arith::ConstantOp>(loc, b.getFloatAttr(like.getType(), value));
}

struct Case {
  const char *name;
  int operands;
  Function function;
  Numbers numbers = Numbers::Any;
};
void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

class GradientMap : public testing::TestWithParam<Case> {};

TEST_P(GradientMap, IsTheSlope) {
  const Case &c = GetParam();
  GradientProgram p;
  SmallVector<Value> inputs;
  for (int i = 0; i < c.operands; ++i)
    inputs.push_back(p.input({2, 7}));
  p.output(p.map(inputs, [&](OpBuilder &b, ValueRange v) { return c.function(b, p.loc(), v); }));
  p.checkGradient({}, c.numbers);
}

Value softplus(OpBuilder &b, Location loc, ValueRange v) {
  Value t =
      b.create<math::ExpOp>(loc, b.create<arith::NegFOp>(loc, b.create<math::AbsFOp>(loc, v[0])));
  return b.create<arith::AddFOp>(loc,
                                 b.create<arith::MaximumFOp>(loc, v[0], number(b, loc, v[0], 0)),
                                 b.create<math::Log1pOp>(loc, t));
}

Value mish(OpBuilder &b, Location loc, ValueRange v) {
  return b.create<arith::MulFOp>(loc, v[0], b.create<math::TanhOp>(loc, softplus(b, loc, v)));
}

Value logistic(OpBuilder &b, Location loc, ValueRange v) {
  Value one = number(b, loc, v[0], 1);
  Value e = b.create<math::ExpOp>(loc, b.create<arith::NegFOp>(loc, v[0]));
  return b.create<arith::DivFOp>(loc, one, b.create<arith::AddFOp>(loc, one, e));
}

Value relu(OpBuilder &b, Location loc, ValueRange v) {
  return b.create<arith::MaximumFOp>(loc, v[0], number(b, loc, v[0], 0));
}

Value clipped(OpBuilder &b, Location loc, ValueRange v) {
  Value low = b.create<arith::MaximumFOp>(loc, number(b, loc, v[0], -1), v[0]);
  return b.create<arith::MinimumFOp>(loc, low, number(b, loc, v[0], 1));
}

Value elu(OpBuilder &b, Location loc, ValueRange v) {
  Value negative =
      b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, v[0], number(b, loc, v[0], 0));
  return b.create<arith::SelectOp>(loc, negative, b.create<math::ExpM1Op>(loc, v[0]), v[0]);
}

Value narrowed(OpBuilder &b, Location loc, ValueRange v) {
  // The reference computes in double precision, also what is narrower.
  Value single = b.create<arith::TruncFOp>(loc, b.getF32Type(), v[0]);
  Value square = b.create<arith::MulFOp>(loc, single, single);
  return b.create<arith::ExtFOp>(loc, b.getF64Type(), square);
}

Value fused(OpBuilder &b, Location loc, ValueRange v) {
  return b.create<math::FmaOp>(loc, v[0], v[1], v[2]);
}

Value powerOfThree(OpBuilder &b, Location loc, ValueRange v) {
  Value three = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(3));
  return b.create<math::FPowIOp>(loc, v[0], three);
}

template <int exponent> Value power(OpBuilder &b, Location loc, ValueRange v) {
  return b.create<math::PowFOp>(loc, v[0], number(b, loc, v[0], exponent));
}

const Case kCases[] = {
    {"neg", 1, apply<arith::NegFOp>},
    {"abs", 1, apply<math::AbsFOp>},
    {"exp", 1, apply<math::ExpOp>},
    {"exp2", 1, apply<math::Exp2Op>},
    {"expm1", 1, apply<math::ExpM1Op>},
    {"log", 1, apply<math::LogOp>, Numbers::Positive},
    {"log2", 1, apply<math::Log2Op>, Numbers::Positive},
    {"log10", 1, apply<math::Log10Op>, Numbers::Positive},
    {"log1p", 1, apply<math::Log1pOp>, Numbers::Positive},
    {"sqrt", 1, apply<math::SqrtOp>, Numbers::Positive},
    {"rsqrt", 1, apply<math::RsqrtOp>, Numbers::Positive},
    {"cbrt", 1, apply<math::CbrtOp>, Numbers::Positive},
    {"sin", 1, apply<math::SinOp>},
    {"cos", 1, apply<math::CosOp>},
    {"tan", 1, apply<math::TanOp>, Numbers::Unit},
    {"asin", 1, apply<math::AsinOp>, Numbers::Unit},
    {"acos", 1, apply<math::AcosOp>, Numbers::Unit},
    {"atan", 1, apply<math::AtanOp>},
    {"sinh", 1, apply<math::SinhOp>},
    {"cosh", 1, apply<math::CoshOp>},
    {"tanh", 1, apply<math::TanhOp>},
    {"asinh", 1, apply<math::AsinhOp>},
    {"atanh", 1, apply<math::AtanhOp>, Numbers::Unit},
    {"erf", 1, apply<math::ErfOp>},
    {"floor", 1, apply<math::FloorOp>},
    {"softplus", 1, softplus},
    {"mish", 1, mish},
    {"logistic", 1, logistic},
    {"relu", 1, relu},
    {"clipped", 1, clipped},
    {"elu", 1, elu},
    {"powi", 1, powerOfThree},
    {"square", 1, power<2>},
    {"cube", 1, power<3>, Numbers::Positive},
    {"add", 2, apply2<arith::AddFOp>},
    {"sub", 2, apply2<arith::SubFOp>},
    {"mul", 2, apply2<arith::MulFOp>},
    {"div", 2, apply2<arith::DivFOp>, Numbers::Positive},
    {"rem", 2, apply2<arith::RemFOp>, Numbers::Positive},
    {"max", 2, apply2<arith::MaximumFOp>},
    {"min", 2, apply2<arith::MinimumFOp>},
    {"pow", 2, apply2<math::PowFOp>, Numbers::Positive},
    {"atan2", 2, apply2<math::Atan2Op>, Numbers::Positive},
    {"copysign", 2, apply2<math::CopySignOp>},
    {"fma", 3, fused},
};
INSTANTIATE_TEST_SUITE_P(Functions, GradientMap, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(GradientOfMap, FlowsThroughNarrowerNumbers) {
  GradientProgram p;
  Value x = p.input({5});
  p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) { return narrowed(b, p.loc(), v); }));
  p.checkGradient({}, Numbers::Any, /*compiled=*/false);
}

TEST(GradientOfMap, SumsWhatBroadcastingRepeats) {
  GradientProgram p;
  Value a = p.input({3, 1, 4}), b = p.input({2, 1}), c = p.input({4}), d = p.input({});
  p.output(p.map({a, b, c, d}, [&](OpBuilder &i, ValueRange v) -> Value {
    Value product = i.create<arith::MulFOp>(p.loc(), v[0], v[1]);
    Value more = i.create<arith::MulFOp>(p.loc(), product, v[2]);
    return i.create<arith::MulFOp>(p.loc(), more, v[3]);
  }));
  p.checkGradient();
}

TEST(GradientOfMap, OfASymbolicBatchAtEverySize) {
  for (int64_t size : {0, 1, 2, 5}) {
    GradientProgram p;
    AffineExpr batch = p.symbol("batch");
    Value x = p.symbolicInput({batch, constantDim(3, p.context())}, p.f64());
    Value w = p.input({3});
    p.output(p.map({x, w}, [&](OpBuilder &i, ValueRange v) -> Value {
      return i.create<math::TanhOp>(p.loc(), i.create<arith::MulFOp>(p.loc(), v[0], v[1]));
    }));
    p.checkGradient({size});
  }
}

TEST(GradientOfMap, ChosenBranchAloneCounts) {
  // The exponential overflows if it is not chosen.
  GradientProgram p;
  Value x = p.input({1});
  p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) { return elu(b, p.loc(), v); }));
  LevelOneProgram joint = p.gradient();
  CompiledProgram compiled([&] {
    std::string text;
    llvm::raw_string_ostream os(text);
    joint.module->print(os);
    return text;
  }());
  Tensor large = Tensor::allocate(DType::F64, {1}), one = Tensor::allocate(DType::F64, {1});
  *large.as<double>() = 2000;
  *one.as<double>() = 1;
  std::vector<Tensor> inputs{large};
  if (joint.module->lookupSymbol<func::FuncOp>("main").getNumArguments() > 1)
    inputs.push_back(one);
  EXPECT_EQ(*compiled.run(inputs)[1].as<double>(), 1);
}

TEST(GradientOfMap, OfASelectByABoolean) {
  GradientProgram p;
  Value c = p.CompiledProgram::input({2, 3}, p.builder().getI1Type());
  Value x = p.input({2, 3}), y = p.input({3});
  p.output(p.map({c, x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::SelectOp>(p.loc(), v[0], b.create<math::SinOp>(p.loc(), v[1]), v[2]);
  }));
  p.checkGradient();
}

} // namespace
} // namespace headrace
