// Math functions in double precision: how many units in the last place compiled results are
// from the exact ones, by the wider arithmetic of long double.
#include "CompiledProgram.h"
#include <bit>
#include <cmath>
#include <random>

using namespace mlir;

namespace headrace {
namespace {

struct DoubleFunction {
  const char *name;
  Value (*build)(OpBuilder &b, Location loc, Value x);
  long double (*exact)(long double x);
  double least, greatest; // of the arguments tried
};

void PrintTo(const DoubleFunction &function, std::ostream *os) { *os << function.name; }

template <class Op> Value make(OpBuilder &b, Location loc, Value x) { return b.create<Op>(loc, x); }

/// Arguments of all magnitudes in the range, evenly spread ones, and the ends of everything.
std::vector<double> argumentsOf(const DoubleFunction &function) {
  std::vector<double> arguments{0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                std::numeric_limits<double>::denorm_min(),
                                std::numeric_limits<double>::min(),
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(),
                                std::nextafter(1.0, 0.0),
                                std::nextafter(1.0, 2.0),
                                709.782712893384,
                                709.7827128933841,
                                -745.1332191019411,
                                -745.1332191019412,
                                -708.4,
                                -730.25};
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(function.least, function.greatest);
  std::uniform_real_distribution<double> exponent(-1070, 1020);
  while (arguments.size() < 20000)
    arguments.push_back(uniform(random));
  while (arguments.size() < 30000) {
    double magnitude = std::exp2(exponent(random));
    arguments.push_back(random() % 2 ? magnitude : -magnitude);
  }
  while (arguments.size() < 40000)
    arguments.push_back(1 + std::exp2(-54 * uniform(random) / function.greatest));
  return arguments;
}

/// The distance in units of the last place of the exact result.
double distance(double got, long double exact) {
  auto rounded = static_cast<double>(exact);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (got == rounded)
    return std::signbit(got) == std::signbit(rounded) ? 0 : 1e9;
  if (std::isinf(got) || std::isinf(rounded))
    return std::numeric_limits<double>::infinity();
  long double unit = std::nextafter(std::abs(rounded), std::numeric_limits<double>::infinity()) -
                     static_cast<long double>(std::abs(rounded));
  return static_cast<double>(std::abs(got - exact) / unit);
}

class DoubleMath : public testing::TestWithParam<DoubleFunction> {};

TEST_P(DoubleMath, IsWithinTwoUnits) {
  const DoubleFunction &function = GetParam();
  std::vector<double> arguments = argumentsOf(function);
  CompiledProgram p;
  Value x = p.input({static_cast<int64_t>(arguments.size())}, p.builder().getF64Type());
  p.output(p.map(
      {x}, [&](OpBuilder &b, ValueRange v) -> Value { return function.build(b, p.loc(), v[0]); }));
  Tensor input = Tensor::allocate(DType::F64, {static_cast<int64_t>(arguments.size())});
  std::copy(arguments.begin(), arguments.end(), input.as<double>());
  Tensor output = p.run({input}).front();
  double worst = 0, at = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    double off =
        distance(output.as<double>()[i], function.exact(static_cast<long double>(arguments[i])));
    if (off > worst) {
      worst = off;
      at = arguments[i];
    }
  }
  EXPECT_LE(worst, 2) << "at " << at;
}

constexpr DoubleFunction kFunctions[] = {
    {"Exp", make<math::ExpOp>, std::exp, -750, 712},
    {"Exp2", make<math::Exp2Op>, std::exp2, -1080, 1026},
    {"ExpM1", make<math::ExpM1Op>, std::expm1, -50, 712},
    {"Tanh", make<math::TanhOp>, std::tanh, -25, 25},
    {"Log", make<math::LogOp>, std::log, 0, 10},
    {"Log2", make<math::Log2Op>, std::log2, 0, 10},
    {"Log10", make<math::Log10Op>, std::log10, 0, 10},
    {"Log1p", make<math::Log1pOp>, std::log1p, -1, 10},
};

INSTANTIATE_TEST_SUITE_P(Functions, DoubleMath, testing::ValuesIn(kFunctions),
                         [](const testing::TestParamInfo<DoubleFunction> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace headrace
