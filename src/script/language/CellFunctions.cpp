#include "script/language/CellFunctions.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace headrace::script {

// In the order of CellFunction.
static constexpr CellFunctionInfo kFunctions[] = {
#define HEADRACE_FUNCTION(Id, name, value, Operation, derivative, cost, growth, onnx, version,     \
                          script)                                                                  \
  {#name, 1, cost, false, Growth::growth, script},
#include "runtime/scalar/Functions.def"
#define HEADRACE_CELL(Id, text, operands, value, formula, cost, logical, call)                     \
  {text, operands, cost, logical, Growth::Other, call},
#include "script/language/CellFunctions.def"
};

const CellFunctionInfo &describe(CellFunction function) {
  return kFunctions[static_cast<size_t>(function)];
}

const CellFunction *findCellFunction(std::string_view canonical) {
  static const auto table = [] {
    std::unordered_map<std::string_view, CellFunction> functions;
    for (size_t i = 0; i < std::size(kFunctions); ++i)
      if (std::string_view call = kFunctions[i].call; !call.empty())
        functions[call.substr(0, call.find(' '))] = static_cast<CellFunction>(i);
    functions["is.na"] = CellFunction::IsNan;
    return functions;
  }();
  auto found = table.find(canonical);
  return found == table.end() ? nullptr : &found->second;
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
