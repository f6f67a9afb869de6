// How far compiled float32 results are from the exact ones, next to plain float32 evaluation: the
// root mean square of the errors is at most three times as large.
#include "driver/Compiler.h"

#include "CompiledProgram.h"
#include <cmath>

using namespace mlir;

namespace headrace {
namespace {

/// The root mean square of the distance from the exact values.
double rmse(const float *values, const std::vector<double> &exact) {
  double sum = 0;
  for (size_t i = 0; i < exact.size(); ++i)
    sum += (values[i] - exact[i]) * (values[i] - exact[i]);
  return std::sqrt(sum / static_cast<double>(exact.size()));
}

constexpr int64_t kRows = 61, kColumns = 263;

/// Inputs of magnitudes from 2^-6 to 2^3.
Tensor spreadInput(unsigned seed) {
  Tensor base = randomTensor(DType::F32, {kRows, kColumns}, Fill::Uniform, seed);
  Tensor spread = Tensor::allocate(DType::F32, base.shape());
  for (int64_t i = 0; i < base.elements(); ++i)
    spread.as<float>()[i] = std::ldexp(base.as<float>()[i], static_cast<int>(i % 9) - 6);
  return spread;
}

using RowFunction = void (*)(const float *in, double *exact, float *plain);

/// Compares a program of one input and output with a function written twice, row by row.
void checkAccuracy(CompiledProgram &p, RowFunction row) {
  Tensor input = spreadInput(7);
  Tensor output = p.run({input}).front();
  std::vector<double> exact(static_cast<size_t>(input.elements()));
  std::vector<float> plain(exact.size());
  for (int64_t i = 0; i < kRows; ++i)
    row(input.as<float>() + i * kColumns, exact.data() + i * kColumns, plain.data() + i * kColumns);
  double ours = rmse(output.as<float>(), exact), theirs = rmse(plain.data(), exact);
  EXPECT_LE(ours, 3 * theirs) << p.text();
  EXPECT_GT(theirs, 0);
}

struct Function {
  const char *name;
  void (*build)(CompiledProgram &p, Value x);
  RowFunction row;
};

void PrintTo(const Function &function, std::ostream *os) { *os << function.name; }

template <class Op> void apply(CompiledProgram &p, Value x) {
  p.output(
      p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value { return b.create<Op>(p.loc(), v[0]); }));
}

template <auto Exact, auto Plain> void eachElement(const float *in, double *exact, float *plain) {
  for (int64_t i = 0; i < kColumns; ++i) {
    exact[i] = Exact(static_cast<double>(in[i]));
    plain[i] = Plain(in[i]);
  }
}

template <class T, class In> void softmaxRow(const In *in, T *out) {
  T largest = static_cast<T>(in[0]), sum = 0;
  for (int64_t i = 0; i < kColumns; ++i)
    largest = std::max(largest, static_cast<T>(in[i]));
  for (int64_t i = 0; i < kColumns; ++i)
    sum += out[i] = std::exp(static_cast<T>(in[i]) - largest);
  for (int64_t i = 0; i < kColumns; ++i)
    out[i] /= sum;
}

template <class T, class In> void normalizeRow(const In *in, T *out) {
  T mean = 0, variance = 0;
  for (int64_t i = 0; i < kColumns; ++i)
    mean += static_cast<T>(in[i]) / T(kColumns);
  for (int64_t i = 0; i < kColumns; ++i)
    variance += (static_cast<T>(in[i]) - mean) * (static_cast<T>(in[i]) - mean) / T(kColumns);
  for (int64_t i = 0; i < kColumns; ++i)
    out[i] = (static_cast<T>(in[i]) - mean) / std::sqrt(variance + static_cast<T>(1e-5));
}

template <class T> T mishOf(T x) { return x * std::tanh(std::log1p(std::exp(x))); }
template <class T> T geluOf(T x) { return x * T(0.5) * (T(1) + std::erf(x / std::sqrt(T(2)))); }

void buildMish(CompiledProgram &p, Value x) {
  p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
    Value softplus = b.create<math::Log1pOp>(p.loc(), b.create<math::ExpOp>(p.loc(), v[0]));
    return b.create<arith::MulFOp>(p.loc(), v[0], b.create<math::TanhOp>(p.loc(), softplus));
  }));
}

void buildGelu(CompiledProgram &p, Value x) {
  p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
    auto number = [&](double value) -> Value {
      return b.create<arith::ConstantOp>(p.loc(), b.getF32FloatAttr(static_cast<float>(value)));
    };
    Value scaled = b.create<arith::DivFOp>(p.loc(), v[0], number(std::sqrt(2.0)));
    Value shifted =
        b.create<arith::AddFOp>(p.loc(), number(1), b.create<math::ErfOp>(p.loc(), scaled));
    Value half = b.create<arith::MulFOp>(p.loc(), v[0], number(0.5));
    return b.create<arith::MulFOp>(p.loc(), half, shifted);
  }));
}

void buildSoftmax(CompiledProgram &p, Value x) { p.output(p.add<hr::SoftmaxOp>(x, 1, false)); }

void buildLayerNorm(CompiledProgram &p, Value x) {
  auto type = RankedTensorType::get({kColumns}, p.f32());
  Value one = p.add<hr::ConstantOp>(DenseElementsAttr::get(type, 1.0f));
  p.output(p.add<hr::LayerNormOp>(x.getType(), x, one, Value(), p.builder().getI64IntegerAttr(1),
                                  p.builder().getF64FloatAttr(1e-5)));
}

template <class Op> void applyToMagnitude(CompiledProgram &p, Value x) {
  p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<Op>(p.loc(), b.create<math::AbsFOp>(p.loc(), v[0]));
  }));
}

#define HEADRACE_OF_MAGNITUDE(name, op)                                                            \
  Function {                                                                                       \
    #name, applyToMagnitude<op>,                                                                   \
        eachElement<[](double x) { return std::name(std::abs(x)); },                               \
                    [](float x) { return std::name(std::abs(x)); }>                                \
  }
#define HEADRACE_ELEMENTWISE(name, op)                                                             \
  Function {                                                                                       \
    #name, apply<op>,                                                                              \
        eachElement<[](double x) { return std::name(x); }, [](float x) { return std::name(x); }>   \
  }

class Accuracy : public testing::TestWithParam<Function> {};

TEST_P(Accuracy, IsThatOfFloat32) {
  CompiledProgram p;
  GetParam().build(p, p.input({kRows, kColumns}));
  checkAccuracy(p, GetParam().row);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Accuracy,
    testing::Values(
        HEADRACE_ELEMENTWISE(exp, math::ExpOp), HEADRACE_ELEMENTWISE(expm1, math::ExpM1Op),
        HEADRACE_ELEMENTWISE(tanh, math::TanhOp), HEADRACE_ELEMENTWISE(erf, math::ErfOp),
        HEADRACE_ELEMENTWISE(sin, math::SinOp), HEADRACE_ELEMENTWISE(cos, math::CosOp),
        HEADRACE_ELEMENTWISE(atan, math::AtanOp), HEADRACE_ELEMENTWISE(cbrt, math::CbrtOp),
        HEADRACE_ELEMENTWISE(sinh, math::SinhOp),
        Function{"mish", buildMish, eachElement<mishOf<double>, mishOf<float>>},
        Function{"gelu", buildGelu, eachElement<geluOf<double>, geluOf<float>>},
        Function{"softmax", buildSoftmax,
                 [](const float *in, double *exact, float *plain) {
                   softmaxRow(in, exact);
                   softmaxRow(in, plain);
                 }},
        Function{"layer_norm", buildLayerNorm,
                 [](const float *in, double *exact, float *plain) {
                   normalizeRow(in, exact);
                   normalizeRow(in, plain);
                 }}),
    [](const testing::TestParamInfo<Function> &info) { return std::string(info.param.name); });

} // namespace
} // namespace headrace
