#include "dialect/scalar/ScalarFunctions.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace headrace::reference {

uint64_t unsignedBits(int64_t value, unsigned width) {
  return static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(width);
}

int64_t signedBits(int64_t value, unsigned width) {
  return llvm::SignExtend64(static_cast<uint64_t>(value), width);
}

static int64_t toSigned(uint64_t value) { return static_cast<int64_t>(value); }
static uint64_t toUnsigned(int64_t value) { return static_cast<uint64_t>(value); }

// IEEE 754's maximum and minimum: NaN if either is, and -0 below +0.
static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? a : b;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
static double minimum(double a, double b) { return -maximum(-a, -b); }

// Division by zero is undefined in the IR; here it yields 0.
static int64_t divideSigned(int64_t a, int64_t b, unsigned) {
  if (b == 0)
    return 0;
  return b == -1 ? toSigned(-toUnsigned(a)) : a / b;
}
static int64_t remainderSigned(int64_t a, int64_t b, unsigned) {
  return b == 0 || b == -1 ? 0 : a % b;
}
static int64_t floorDivide(int64_t a, int64_t b, unsigned width) {
  int64_t quotient = divideSigned(a, b, width), remainder = remainderSigned(a, b, width);
  return remainder != 0 && (remainder < 0) != (b < 0) ? quotient - 1 : quotient;
}
static int64_t ceilDivide(int64_t a, int64_t b, unsigned width) {
  int64_t quotient = divideSigned(a, b, width), remainder = remainderSigned(a, b, width);
  return remainder != 0 && (remainder < 0) == (b < 0) ? quotient + 1 : quotient;
}
static int64_t divideUnsigned(int64_t a, int64_t b, unsigned width) {
  uint64_t divisor = unsignedBits(b, width);
  return divisor == 0 ? 0 : toSigned(unsignedBits(a, width) / divisor);
}
static int64_t remainderUnsigned(int64_t a, int64_t b, unsigned width) {
  uint64_t divisor = unsignedBits(b, width);
  return divisor == 0 ? 0 : toSigned(unsignedBits(a, width) % divisor);
}
static int64_t ceilDivideUnsigned(int64_t a, int64_t b, unsigned width) {
  int64_t quotient = divideUnsigned(a, b, width);
  return remainderUnsigned(a, b, width) != 0 ? quotient + 1 : quotient;
}

// Shifts by the width or more are undefined in the IR; here all bits leave.
static int64_t shiftLeft(int64_t a, int64_t b, unsigned width) {
  uint64_t distance = unsignedBits(b, width);
  return distance >= width ? 0 : toSigned(toUnsigned(a) << distance);
}
static int64_t shiftRightUnsigned(int64_t a, int64_t b, unsigned width) {
  uint64_t distance = unsignedBits(b, width);
  return distance >= width ? 0 : toSigned(unsignedBits(a, width) >> distance);
}
static int64_t shiftRightSigned(int64_t a, int64_t b, unsigned width) {
  return a >> std::min<uint64_t>(unsignedBits(b, width), 63);
}

static int64_t integerPower(int64_t base, int64_t exponent, unsigned) {
  if (exponent < 0) // 1 / base^-exponent, rounded toward zero
    return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, factor = toUnsigned(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return toSigned(result);
}

template <class Function> using Table = llvm::StringMap<Function>;

template <class Function>
static Function find(const Table<Function> &table, llvm::StringRef operation) {
  return table.lookup(operation);
}

FloatFunction1 findFloatFunction1(llvm::StringRef operation) {
  static const Table<FloatFunction1> table = {
      {"arith.negf", [](double x) { return -x; }},
      // The reference is the exact function: narrower types are not rounded to.
      {"arith.extf", [](double x) { return x; }},
      {"arith.truncf", [](double x) { return x; }},
      {"math.absf", std::fabs},
#define HEADRACE_FUNCTION(Id, name, value, Operation, ...)                                         \
  {Operation::getOperationName(), [](double x) -> double { return value; }},
#include "runtime/scalar/Functions.def"
      {"math.round", std::round},
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
  };
  return find(table, operation);
}

FloatFunction2 findFloatFunction2(llvm::StringRef operation) {
  static const Table<FloatFunction2> table = {
      {"arith.addf", [](double a, double b) { return a + b; }},
      {"arith.subf", [](double a, double b) { return a - b; }},
      {"arith.mulf", [](double a, double b) { return a * b; }},
      {"arith.divf", [](double a, double b) { return a / b; }},
      {"arith.remf", std::fmod},
      {"arith.maximumf", maximum},
      {"arith.minimumf", minimum},
      {"arith.maxnumf", std::fmax},
      {"arith.minnumf", std::fmin},
      {"math.atan2", std::atan2},
      {"math.copysign", std::copysign},
      {"math.powf", std::pow},
  };
  return find(table, operation);
}

IntegerFunction1 findIntegerFunction1(llvm::StringRef operation) {
  static const Table<IntegerFunction1> table = {
      {"arith.extsi", [](int64_t a, unsigned) { return a; }},
      {"arith.trunci", [](int64_t a, unsigned) { return a; }},
      {"arith.index_cast", [](int64_t a, unsigned) { return a; }},
      {"arith.extui", [](int64_t a, unsigned w) { return toSigned(unsignedBits(a, w)); }},
      {"arith.index_castui", [](int64_t a, unsigned w) { return toSigned(unsignedBits(a, w)); }},
      {"math.absi", [](int64_t a, unsigned) { return a < 0 ? toSigned(-toUnsigned(a)) : a; }},
      {"math.ctlz",
       [](int64_t a, unsigned w) {
         return int64_t{std::countl_zero(unsignedBits(a, w))} - (64 - int64_t{w});
       }},
      {"math.cttz",
       [](int64_t a, unsigned w) {
         return std::min<int64_t>(std::countr_zero(unsignedBits(a, w)), w);
       }},
      {"math.ctpop",
       [](int64_t a, unsigned w) { return int64_t{std::popcount(unsignedBits(a, w))}; }},
  };
  return find(table, operation);
}

IntegerFunction2 findIntegerFunction2(llvm::StringRef operation) {
  static const Table<IntegerFunction2> table = {
      {"arith.addi",
       [](int64_t a, int64_t b, unsigned) { return toSigned(toUnsigned(a) + toUnsigned(b)); }},
      {"arith.subi",
       [](int64_t a, int64_t b, unsigned) { return toSigned(toUnsigned(a) - toUnsigned(b)); }},
      {"arith.muli",
       [](int64_t a, int64_t b, unsigned) { return toSigned(toUnsigned(a) * toUnsigned(b)); }},
      {"arith.divsi", divideSigned},
      {"arith.divui", divideUnsigned},
      {"arith.ceildivsi", ceilDivide},
      {"arith.ceildivui", ceilDivideUnsigned},
      {"arith.floordivsi", floorDivide},
      {"arith.remsi", remainderSigned},
      {"arith.remui", remainderUnsigned},
      {"arith.andi", [](int64_t a, int64_t b, unsigned) { return a & b; }},
      {"arith.ori", [](int64_t a, int64_t b, unsigned) { return a | b; }},
      {"arith.xori", [](int64_t a, int64_t b, unsigned) { return a ^ b; }},
      {"arith.shli", shiftLeft},
      {"arith.shrsi", shiftRightSigned},
      {"arith.shrui", shiftRightUnsigned},
      {"arith.maxsi", [](int64_t a, int64_t b, unsigned) { return std::max(a, b); }},
      {"arith.minsi", [](int64_t a, int64_t b, unsigned) { return std::min(a, b); }},
      {"arith.maxui", [](int64_t a, int64_t b,
                         unsigned w) { return unsignedBits(a, w) > unsignedBits(b, w) ? a : b; }},
      {"arith.minui", [](int64_t a, int64_t b,
                         unsigned w) { return unsignedBits(a, w) < unsignedBits(b, w) ? a : b; }},
      {"math.ipowi", integerPower},
  };
  return find(table, operation);
}

} // namespace headrace::reference
