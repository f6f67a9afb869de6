#include "script/graph/CellFunctions.h"

#include <algorithm>
#include <iterator>

namespace headrace::script {

// In the order of CellFunction.
static constexpr CellFunctionInfo kFunctions[] = {
    {"-", 1, 0.5, false},   {"!", 1, 0.5, true},      {"abs", 1, 0.5, false},
    {"sqrt", 1, 2, false},  {"exp", 1, 8, false},     {"log", 1, 8, false},
    {"sign", 1, 1, false},  {"round", 1, 1, false},   {"floor", 1, 1, false},
    {"ceil", 1, 1, false},  {"sin", 1, 12, false},    {"cos", 1, 12, false},
    {"tan", 1, 18, false},  {"asin", 1, 18, false},   {"acos", 1, 18, false},
    {"atan", 1, 18, false}, {"sinh", 1, 18, false},   {"cosh", 1, 18, false},
    {"tanh", 1, 18, false}, {"isNaN", 1, 0.5, true},  {"isInf", 1, 0.5, true},
    {"^", 2, 20, false},    {"%%", 2, 4, false},      {"%/%", 2, 3, false},
    {"*", 2, 0.5, false},   {"/", 2, 1.5, false},     {"+", 2, 0.5, false},
    {"-", 2, 0.5, false},   {"<", 2, 0.5, true},      {"<=", 2, 0.5, true},
    {">", 2, 0.5, true},    {">=", 2, 0.5, true},     {"==", 2, 0.5, true},
    {"!=", 2, 0.5, true},   {"&", 2, 0.5, true},      {"|", 2, 0.5, true},
    {"xor", 2, 0.5, true},  {"min", 2, 0.5, false},   {"max", 2, 0.5, false},
    {"log", 2, 16, false},  {"ifelse", 3, 0.5, false}};
static_assert(std::size(kFunctions) == size_t(CellFunction::IfElse) + 1);

const CellFunctionInfo &describe(CellFunction function) {
  return kFunctions[static_cast<size_t>(function)];
}

ValueType scalarResult(CellFunction function, std::span<const ValueType> operands) {
  using enum CellFunction;
  using enum ValueType;
  auto all = [&](ValueType type) {
    return std::ranges::count(operands, type) == std::ssize(operands);
  };
  bool open = std::ranges::find(operands, Unknown) != operands.end();
  switch (function) {
  case Less:
  case LessEqual:
  case Greater:
  case GreaterEqual:
  case Equal:
  case NotEqual:
    return Boolean;
  case Not:
  case And:
  case Or:
  case Xor:
    return open ? Unknown : all(Boolean) ? Boolean : Double;
  case IsNan:
  case IsInfinite:
    return operands[0];
  case Negate:
  case Abs:
    return open ? Unknown : all(Double) ? Double : Integer;
  case Add:
  case Subtract:
  case Multiply:
  case Modulus:
  case IntegerDivide:
  case Min:
  case Max: {
    if (std::ranges::find(operands, Double) != operands.end())
      return Double;
    return open ? Unknown : all(Boolean) ? Double : Integer;
  }
  case IfElse: {
    ValueType yes = operands[1], no = operands[2];
    bool numbers = (yes == Integer || yes == Double) && (no == Integer || no == Double);
    return yes == no ? yes : numbers ? Double : Unknown;
  }
  default:
    return Double;
  }
}

double apply(CellFunction function, double a, double b, double c) {
  return withCellFunction(function, [&]<CellFunction F>() { return applyCell<F>(a, b, c); });
}

} // namespace headrace::script
