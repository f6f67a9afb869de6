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
#define HEADRACE_FUNCTION(Id, ...) Id,
#include "runtime/scalar/Functions.def"
#define HEADRACE_CELL(Id, ...) Id,
#include "script/language/CellFunctions.def"
};

/// A bound on the values of a function: it is monotonic in its operand, or has a fixed range.
enum class Growth : uint8_t {
  Other,
  Growing,         ///< never falls as its operand grows, and has a value wherever that has one
  GrowingFromZero, ///< likewise, for operands that are not negative
  WithinOne        ///< between -1 and 1
};

struct CellFunctionInfo {
  std::string_view name; ///< as -explain shows it
  int operands;
  double cost;           ///< about nanoseconds a cell outside vectors
  bool logical;          ///< gives 0 or 1
  Growth growth;         ///< of a function of one number
  std::string_view call; ///< the names of the built-in function that it is; may be none
};
const CellFunctionInfo &describe(CellFunction function);

/// The function of cells that a built-in function is, by its canonical name; null for others.
const CellFunction *findCellFunction(std::string_view canonical);

/// The type of the result for scalars of these types: integers stay integers if they can;
/// Unknown if it depends on a type that is not known.
ValueType scalarResult(CellFunction function, std::span<const ValueType> operands);

/// The nearest integer, ties upwards, through a 64-bit integer: NaN gives 0.
inline double roundedCell(double x) {
  double below = std::floor(x);
  double nearest = x - below >= 0.5 ? below + 1 : below;
  return x != x ? 0 : std::fmin(std::fmax(nearest, -0x1p63), 0x1p63);
}

/// A number without its fraction, through a 64-bit integer; what lacks a rounding error of the next
/// integer is that number.
inline double truncatedCell(double x) {
  double whole = std::copysign(std::floor(std::fabs(x) + 0x1p-53), x) + 0.0; // no -0
  return x != x ? 0 : std::fmin(std::fmax(whole, -0x1p63), 0x1p63);
}

inline double quotientCell(double a, double b) {
  double quotient = a / b;
  bool finite = std::fabs(quotient) < std::numeric_limits<double>::infinity();
  return finite ? truncatedCell(quotient) : quotient;
}

/// The remainder has the dividend's sign.
inline double remainderCell(double a, double b) {
  return b == 0 ? std::numeric_limits<double>::quiet_NaN() : a - quotientCell(a, b) * b;
}

template <CellFunction F> inline double applyCell(double a, double b = 0, double c = 0) {
  using enum CellFunction;
#define HEADRACE_FUNCTION(Id, name, value, ...)                                                    \
  if constexpr (F == Id)                                                                           \
    return [](double x) { return value; }(a);
#include "runtime/scalar/Functions.def"
#define HEADRACE_CELL(Id, text, operands, value, ...)                                              \
  if constexpr (F == Id)                                                                           \
    return value;
#include "script/language/CellFunctions.def"
}

/// Calls `visit.template operator()<F>()` for the function given: one switch outside the loops.
template <class Visit> decltype(auto) withCellFunction(CellFunction function, Visit &&visit) {
  using enum CellFunction;
  switch (function) {
#define HEADRACE_FUNCTION(Id, ...)                                                                 \
  case Id:                                                                                         \
    return visit.template operator()<Id>();
#include "runtime/scalar/Functions.def"
#define HEADRACE_CELL(Id, ...)                                                                     \
  case Id:                                                                                         \
    return visit.template operator()<Id>();
#include "script/language/CellFunctions.def"
  }
  __builtin_unreachable();
}

/// One value; operands beyond the function's are not looked at.
double apply(CellFunction function, double a, double b = 0, double c = 0);

} // namespace headrace::script
