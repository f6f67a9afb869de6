#include "Points.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace headrace::accuracy {
namespace {

template <class Element> Tensor tensorOf(DType type, const std::vector<Element> &elements) {
  Tensor tensor = Tensor::allocate(type, {static_cast<int64_t>(elements.size())});
  std::memcpy(tensor.data(), elements.data(), elements.size() * sizeof(Element));
  return tensor;
}

template <class Bits, class Float> struct FloatBits {
  static constexpr int kMantissa = std::numeric_limits<Float>::digits - 1;
  static constexpr int kExponents = 1 << (8 * sizeof(Float) - 1 - kMantissa);
  static Float of(Bits sign, Bits exponent, Bits mantissa) {
    Bits bits = (sign << (8 * sizeof(Float) - 1)) | (exponent << kMantissa) | mantissa;
    return std::bit_cast<Float>(bits);
  }
};

/// Every exponent: the ends of its mantissas and random ones.
template <class Bits, class Float>
void addExponents(std::vector<Float> &points, int randomEach, std::mt19937_64 &random) {
  using Layout = FloatBits<Bits, Float>;
  constexpr Bits kMask = (Bits{1} << Layout::kMantissa) - 1;
  for (Bits exponent = 0; exponent < Bits(Layout::kExponents); ++exponent)
    for (Bits sign : {Bits{0}, Bits{1}}) {
      for (Bits mantissa : {Bits{0}, Bits{1}, Bits{2}, Bits(kMask / 2), Bits(kMask / 2 + 1),
                            Bits(kMask - 1), kMask})
        points.push_back(Layout::of(sign, exponent, mantissa));
      for (int i = 0; i < randomEach; ++i)
        points.push_back(Layout::of(sign, exponent, static_cast<Bits>(random()) & kMask));
    }
}

template <class Float>
void addUniform(std::vector<Float> &points, double low, double high, int count,
                std::mt19937_64 &random) {
  std::uniform_real_distribution<double> uniform(low, high);
  for (int i = 0; i < count; ++i)
    points.push_back(static_cast<Float>(uniform(random)));
}

template <class Bits, class Float> std::vector<Float> sampledPoints(int randomEach) {
  std::mt19937_64 random(1);
  std::vector<Float> points;
  addExponents<Bits>(points, randomEach, random);
  for (double end : {1.0, 2.0, 10.0, 100.0, 800.0, 1e5})
    addUniform(points, -end, end, 40'000, random);
  addUniform(points, 0.99, 1.01, 20'000, random);
  // Where --all found the largest errors of f32: of expm1.
  points.push_back(static_cast<Float>(0.37941932678222656));
  // Around multiples of pi / 2, where circular functions are near zero.
  for (int k = 1; k <= 20'000; ++k) {
    auto point = static_cast<Float>(k * (M_PI / 2));
    points.push_back(point);
    points.push_back(std::nextafter(point, Float(0)));
  }
  return points;
}

template <class Float> std::vector<Float> specialNumbers() {
  using Limits = std::numeric_limits<Float>;
  std::vector<Float> numbers = {Limits::infinity(),    Limits::max(),        Limits::min(),
                                Limits::min() / 2,     Limits::denorm_min(), Limits::epsilon(),
                                1 - Limits::epsilon(), 1 + Limits::epsilon()};
  for (double number : {0.0,  0.1,  0.5,  1.0,   1.5, 2.0,        2.5,    3.0,  4.0,        7.0,
                        10.0, 31.0, 32.0, 127.5, 1e3, 0x1p24 - 1, 0x1p24, 1e10, 0x1p53 - 1, 0x1p53})
    numbers.push_back(static_cast<Float>(number));
  for (size_t i = 0, count = numbers.size(); i < count; ++i)
    numbers.push_back(-numbers[i]);
  numbers.push_back(Limits::quiet_NaN());
  return numbers;
}

template <class Bits, class Float>
void visitFloatPairs(DType type, const std::function<void(const Tensor &, const Tensor &)> &visit) {
  std::vector<Float> x, y;
  for (Float a : specialNumbers<Float>())
    for (Float b : specialNumbers<Float>()) {
      x.push_back(a);
      y.push_back(b);
    }
  std::mt19937_64 random(2);
  std::vector<Float> others;
  addExponents<Bits>(others, 4, random);
  for (double end : {1.0, 4.0, 30.0, 1000.0})
    addUniform(others, -end, end, 2000, random);
  for (int i = 0; i < 300'000; ++i) {
    x.push_back(others[random() % others.size()]);
    y.push_back(others[random() % others.size()]);
  }
  for (int i = 0; i < 100'000; ++i) { // powers that neither vanish nor overflow
    x.push_back(others[random() % others.size()]);
    addUniform(y, -4.0, 4.0, 1, random);
    x.push_back(static_cast<Float>(std::exp2(static_cast<double>(random() % 4096) / 1024 - 2)));
    addUniform(y, -50.0, 50.0, 1, random);
  }
  visit(tensorOf(type, x), tensorOf(type, y));
}

} // namespace

void visitPoints(DType type, const Visit &visit) {
  if (type == DType::F64)
    return visit(tensorOf(type, sampledPoints<uint64_t, double>(60)));
  if (type == DType::F32)
    return visit(tensorOf(type, sampledPoints<uint32_t, float>(1000)));
  std::vector<uint16_t> every(1 << 16);
  std::iota(every.begin(), every.end(), 0);
  visit(tensorOf(type, every));
}

void visitPairs(DType type, const std::function<void(const Tensor &, const Tensor &)> &visit) {
  if (type == DType::F64)
    return visitFloatPairs<uint64_t, double>(type, visit);
  visitFloatPairs<uint32_t, float>(DType::F32, [&](const Tensor &x, const Tensor &y) {
    visit(x.converted(type), y.converted(type));
  });
}

} // namespace headrace::accuracy
