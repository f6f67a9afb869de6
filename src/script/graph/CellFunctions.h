#pragma once

#include "script/language/Ast.h"
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

/// Functions of one, two or three numbers that apply to every cell of matrices, and to scalars.
namespace headrace::script {

enum class CellFunction : uint8_t {
  // of one number
  Negate,
  Not,
  Abs,
  Sqrt,
  Exp,
  Log,
  Sign,
  Round,
  Floor,
  Ceil,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  IsNan,
  IsInfinite,
  // of two
  Power,
  Modulus,
  IntegerDivide,
  Multiply,
  Divide,
  Add,
  Subtract,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Xor,
  Min,
  Max,
  LogBase,
  // of three
  IfElse
};

struct CellFunctionInfo {
  std::string_view name; ///< as -explain shows it
  int operands;
  double cost;  ///< about nanoseconds a cell outside vectors
  bool logical; ///< gives 0 or 1
};
const CellFunctionInfo &describe(CellFunction function);

/// The type of the result for scalars of these types: whole numbers stay whole where they can;
/// Unknown where it depends on a type that is not known.
ValueType scalarResult(CellFunction function, std::span<const ValueType> operands);

/// The nearest whole number, halves upwards, through a 64-bit integer: NaN gives 0.
inline double roundedCell(double x) {
  double below = std::floor(x);
  double nearest = x - below >= 0.5 ? below + 1 : below;
  return x != x ? 0 : std::fmin(std::fmax(nearest, -0x1p63), 0x1p63);
}

/// A number without its fraction, through a 64-bit integer; what lacks a rounding error of the next
/// whole number is that number.
inline double truncatedCell(double x) {
  double whole = std::copysign(std::floor(std::fabs(x) + 0x1p-53), x) + 0.0; // no -0
  return x != x ? 0 : std::fmin(std::fmax(whole, -0x1p63), 0x1p63);
}

inline double quotientCell(double a, double b) {
  double quotient = a / b;
  bool finite = std::fabs(quotient) < std::numeric_limits<double>::infinity();
  return finite ? truncatedCell(quotient) : quotient;
}

template <CellFunction F> inline double applyCell(double a, double b = 0, double c = 0) {
  using enum CellFunction;
  if constexpr (F == Negate)
    return -a;
  else if constexpr (F == Not)
    return a == 0;
  else if constexpr (F == Abs)
    return std::fabs(a);
  else if constexpr (F == Sqrt)
    return std::sqrt(a);
  else if constexpr (F == Exp)
    return std::exp(a);
  else if constexpr (F == Log)
    return std::log(a);
  else if constexpr (F == Sign)
    return a > 0 ? 1 : a < 0 ? -1 : a;
  else if constexpr (F == Round)
    return roundedCell(a);
  else if constexpr (F == Floor)
    return std::floor(a);
  else if constexpr (F == Ceil)
    return std::ceil(a);
  else if constexpr (F == Sin)
    return std::sin(a);
  else if constexpr (F == Cos)
    return std::cos(a);
  else if constexpr (F == Tan)
    return std::tan(a);
  else if constexpr (F == Asin)
    return std::asin(a);
  else if constexpr (F == Acos)
    return std::acos(a);
  else if constexpr (F == Atan)
    return std::atan(a);
  else if constexpr (F == Sinh)
    return std::sinh(a);
  else if constexpr (F == Cosh)
    return std::cosh(a);
  else if constexpr (F == Tanh)
    return std::tanh(a);
  else if constexpr (F == IsNan)
    return a != a;
  else if constexpr (F == IsInfinite)
    return std::fabs(a) == std::numeric_limits<double>::infinity();
  else if constexpr (F == Power)
    return b == 2 ? a * a : std::pow(a, b);
  // The remainder has the dividend's sign.
  else if constexpr (F == Modulus)
    return b == 0 ? std::numeric_limits<double>::quiet_NaN() : a - quotientCell(a, b) * b;
  else if constexpr (F == IntegerDivide)
    return quotientCell(a, b);
  else if constexpr (F == Multiply)
    return a * b;
  else if constexpr (F == Divide)
    return a / b;
  else if constexpr (F == Add)
    return a + b;
  else if constexpr (F == Subtract)
    return a - b;
  else if constexpr (F == Less)
    return a < b;
  else if constexpr (F == LessEqual)
    return a <= b;
  else if constexpr (F == Greater)
    return a > b;
  else if constexpr (F == GreaterEqual)
    return a >= b;
  else if constexpr (F == Equal)
    return a == b;
  else if constexpr (F == NotEqual)
    return a != b;
  else if constexpr (F == And)
    return a != 0 && b != 0;
  else if constexpr (F == Or)
    return a != 0 || b != 0;
  else if constexpr (F == Xor)
    return (a != 0) != (b != 0);
  // NaN wins, on either side.
  else if constexpr (F == Min)
    return a != a || a < b ? a : b;
  else if constexpr (F == Max)
    return a != a || a > b ? a : b;
  else if constexpr (F == LogBase)
    return std::log(a) / std::log(b);
  else if constexpr (F == IfElse)
    return a != 0 ? b : c;
}

/// Calls `visit.template operator()<F>()` for the function given: one switch outside the loops.
template <class Visit> decltype(auto) withCellFunction(CellFunction function, Visit &&visit) {
  using enum CellFunction;
  switch (function) {
#define HEADRACE_CASE(F)                                                                           \
  case F:                                                                                          \
    return visit.template operator()<F>();
    HEADRACE_CASE(Negate)
    HEADRACE_CASE(Not)
    HEADRACE_CASE(Abs)
    HEADRACE_CASE(Sqrt)
    HEADRACE_CASE(Exp)
    HEADRACE_CASE(Log)
    HEADRACE_CASE(Sign)
    HEADRACE_CASE(Round)
    HEADRACE_CASE(Floor) HEADRACE_CASE(Ceil) HEADRACE_CASE(Sin) HEADRACE_CASE(Cos)
        HEADRACE_CASE(Tan) HEADRACE_CASE(Asin) HEADRACE_CASE(Acos) HEADRACE_CASE(Atan)
            HEADRACE_CASE(Sinh) HEADRACE_CASE(Cosh) HEADRACE_CASE(Tanh) HEADRACE_CASE(IsNan)
                HEADRACE_CASE(IsInfinite) HEADRACE_CASE(Power) HEADRACE_CASE(Modulus)
                    HEADRACE_CASE(IntegerDivide) HEADRACE_CASE(Multiply) HEADRACE_CASE(Divide)
                        HEADRACE_CASE(Add) HEADRACE_CASE(Subtract) HEADRACE_CASE(Less)
                            HEADRACE_CASE(LessEqual) HEADRACE_CASE(Greater)
                                HEADRACE_CASE(GreaterEqual) HEADRACE_CASE(Equal)
                                    HEADRACE_CASE(NotEqual) HEADRACE_CASE(And) HEADRACE_CASE(Or)
                                        HEADRACE_CASE(Xor) HEADRACE_CASE(Min) HEADRACE_CASE(Max)
                                            HEADRACE_CASE(LogBase) HEADRACE_CASE(IfElse)
#undef HEADRACE_CASE
  }
  __builtin_unreachable();
}

/// One value; operands beyond the function's are not looked at.
double apply(CellFunction function, double a, double b = 0, double c = 0);

} // namespace headrace::script
