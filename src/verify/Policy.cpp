#include "verify/Policy.h"

#include "runtime/tensor/SmallFloat.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headrace::verify {

namespace {

bool isFloat(DType type) {
  return (type >= DType::F16 && type <= DType::F4E2M1) || type == DType::F8E8M0;
}

// The distance from 1 to the next larger value.
double epsilonOf(DType type) {
  switch (type) {
  case DType::F16:
    return 0x1p-10;
  case DType::BF16:
    return 0x1p-7;
  case DType::F32:
    return 0x1p-23;
  case DType::F64:
    return 0x1p-52;
  case DType::F8E8M0:
    return 1;
  default:
    if (std::optional<SmallFloat> format = smallFloat(type))
      return std::ldexp(1.0, -format->mantissaBits);
    return 0;
  }
}

Shape placeOf(int64_t position, const Shape &shape) {
  Shape place(shape.size());
  for (size_t d = shape.size(); d-- > 0; position /= shape[d])
    place[d] = position % shape[d];
  return place;
}

std::string number(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  return digits;
}

std::string shortNumber(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.2g", value);
  return digits;
}

// Elements as doubles: of integers the difference is exact, whatever their size.
class Elements {
public:
  Elements(const Tensor &tensor, DType declared)
      : type(declared), values(tensor.converted(isFloat(declared) ? DType::F64 : DType::I64)),
        typed(isFloat(declared) && declared != DType::F64
                  ? tensor.converted(declared).converted(DType::F64)
                  : values) {}

  double operator[](int64_t i) const {
    return isFloat(type) ? values.as<double>()[i] : static_cast<double>(values.as<int64_t>()[i]);
  }
  /// The element in the declared type, in which too large a value is infinite.
  double inType(int64_t i) const { return isFloat(type) ? typed.as<double>()[i] : (*this)[i]; }
  double minus(const Elements &other, int64_t i) const {
    if (isFloat(type))
      return (*this)[i] - other[i];
    return static_cast<double>(static_cast<__int128>(values.as<int64_t>()[i]) -
                               other.values.as<int64_t>()[i]);
  }

private:
  DType type;
  Tensor values, typed;
};

// Mean squares beyond what doubles hold stay finite.
class MeanSquare {
public:
  void add(double value) {
    sum += static_cast<long double>(value) * value;
    ++count;
  }
  double root() const {
    return count == 0 ? 0 : static_cast<double>(std::sqrt(sum / static_cast<long double>(count)));
  }

private:
  long double sum = 0;
  int64_t count = 0;
};

bool areSameKind(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b))
    return a == b;
  return true;
}

class Judge {
public:
  Judge(const Tensor &given, const Tensor &exactResult, std::span<const Tensor> rounded,
        std::span<const Tensor> disturbed)
      : type(given.dtype()), shape(given.shape()), found(given, type), exact(exactResult, type),
        known(rounded.size()) {
    for (const Tensor &run : rounded)
      runs.emplace_back(run, type);
    for (const Tensor &run : disturbed)
      runs.emplace_back(run, type);
    result.elements = given.elements();
  }

  Judgement judge() {
    for (int64_t i = 0; i < result.elements; ++i)
      if (isRegular(i))
        regular.push_back(i);
    measure(regular);
    if (result.error > result.allowed)
      setSteepApart();
    result.holds = result.fault.empty() && result.error <= result.allowed;
    return std::move(result);
  }

private:
  // Elements that are not finite somewhere have no error; they are alike, or rounding explains it.
  bool isRegular(int64_t i) {
    double ours = found.inType(i), right = exact.inType(i);
    bool isExplained = areSameKind(ours, right), isFinite = std::isfinite(right);
    for (const Elements &run : runs) {
      isExplained |= areSameKind(ours, run.inType(i)) && !areSameKind(run.inType(i), right);
      isFinite &= std::isfinite(run.inType(i));
    }
    // Just below the largest value, either may be rounded to.
    isExplained |= isAtLimit(ours, right) || isAtLimit(right, ours);
    if (!isExplained && result.fault.empty()) {
      note(i);
      result.fault = "expected " + number(right) + ", got " + number(ours);
    }
    if (!isExplained)
      return false;
    if (!areSameKind(ours, right) && !isAtLimit(ours, right) && !isAtLimit(right, ours))
      ++result.steep;
    return isFinite && std::isfinite(ours);
  }

  bool isAtLimit(double infinite, double large) const {
    if (!std::isinf(infinite) || std::signbit(infinite) != std::signbit(large) || !isFloat(type))
      return false;
    Tensor beyond = Tensor::allocate(DType::F64, {1});
    *beyond.as<double>() = large * (1 + 64 * epsilonOf(type));
    return std::isinf(*beyond.converted(type).converted(DType::F64).as<double>());
  }

  void note(int64_t i) {
    result.place = placeOf(i, shape);
    result.found = found[i];
    result.exact = exact[i];
  }

  void measure(std::span<const int64_t> elements) {
    MeanSquare scale, error;
    std::vector<MeanSquare> rounded(known);
    double largest = 0;
    for (int64_t i : elements) {
      double own = found.minus(exact, i);
      scale.add(exact[i]);
      error.add(own);
      for (size_t run = 0; run < known; ++run)
        rounded[run].add(runs[run].minus(exact, i));
      if (std::abs(own) > largest && result.fault.empty()) {
        largest = std::abs(own);
        note(i);
      }
    }
    result.scale = scale.root();
    result.error = error.root();
    result.rounded = 0;
    for (const MeanSquare &run : rounded)
      result.rounded = std::max(result.rounded, run.root());
    // The RMS of a few errors is chance: the fewer there are, the more.
    double few = elements.empty() ? 0 : 6 / std::sqrt(static_cast<double>(elements.size()));
    result.allowed =
        std::max((3 + few) * result.rounded,
                 isFloat(type) ? std::max(epsilonOf(type) * result.scale, smallest()) : 0);
  }

  // Half the distance between values that are next to 0.
  double smallest() const {
    return type == DType::F64 ? 0x1p-1074 : type == DType::F16 ? 0x1p-24 : 0x1p-149;
  }

  // A few runs do not meet the extremes: as much again is allowed on either side. If they differ
  // by no more than rounding does elsewhere, the ordinary rule decides.
  void setSteepApart() {
    std::vector<int64_t> others;
    double least = 8 * result.allowed;
    for (int64_t i : regular) {
      double low = exact[i], high = exact[i];
      for (const Elements &run : runs) {
        low = std::min(low, run[i]);
        high = std::max(high, run[i]);
      }
      double width = high - low;
      if (width > least && found[i] >= low - width && found[i] <= high + width)
        ++result.steep;
      else
        others.push_back(i);
    }
    if (others.size() < regular.size())
      measure(others);
  }

  DType type;
  Shape shape;
  Elements found, exact;
  std::vector<Elements> runs;
  size_t known; // the first of them, which have the errors of the types
  std::vector<int64_t> regular;
  Judgement result;
};

} // namespace

Judgement judge(const Tensor &found, const Tensor &exact, std::span<const Tensor> rounded,
                std::span<const Tensor> disturbed) {
  Judgement different;
  different.holds = false;
  bool isSameType =
      found.dtype() == exact.dtype() || (isFloat(found.dtype()) && exact.dtype() == DType::F64);
  if (!isSameType)
    different.fault = "expected type " + std::string(nameOf(exact.dtype())) + ", got " +
                      std::string(nameOf(found.dtype()));
  else if (found.shape() != exact.shape())
    different.fault =
        "expected shape " + shapeString(exact.shape()) + ", got " + shapeString(found.shape());
  if (!different.fault.empty())
    return different;
  auto hasOtherShape = [&](const Tensor &run) { return run.shape() != exact.shape(); };
  std::vector<Tensor> same(rounded.begin(), rounded.end()),
      moved(disturbed.begin(), disturbed.end());
  std::erase_if(same, hasOtherShape); // sizes that depend on values may change with them
  std::erase_if(moved, hasOtherShape);
  return Judge(found, exact, same, moved).judge();
}

std::string text(const Judgement &judgement) {
  if (!judgement.fault.empty() && judgement.place.empty() && judgement.elements != 1)
    return judgement.fault;
  std::string result = "error " + shortNumber(judgement.error) + ", allowed " +
                       shortNumber(judgement.allowed) + " (values up to " +
                       shortNumber(judgement.scale) +
                       "; rounding to float32 alone: " + shortNumber(judgement.rounded) + ")";
  if (judgement.steep > 0)
    result += ", " + std::to_string(judgement.steep) + " of " + std::to_string(judgement.elements) +
              " not compared, since the program is steep there";
  if (judgement.holds)
    return result;
  std::string place;
  for (int64_t index : judgement.place)
    place += (place.empty() ? "" : ", ") + std::to_string(index);
  return result + "; at [" + place + "]: expected " + number(judgement.exact) + ", got " +
         number(judgement.found);
}

} // namespace headrace::verify
