#include "rewrite/accelerator/HardwareOperators.h"

#include <algorithm>

namespace headrace::rewrite {

namespace {

using Operands = std::span<const Array *const>;
using Shapes = std::span<const Shape>;
using Kind = Language::Kind;

const TensorOperator &tensorOperator(std::string_view name) {
  return *std::ranges::find(computationOperators(), name, &TensorOperator::name);
}

bool endsWith(const Shape &shape, std::span<const int64_t> sizes) {
  return shape.size() >= sizes.size() && std::equal(sizes.rbegin(), sizes.rend(), shape.rbegin());
}

ShapeResult refused(Shapes operands) {
  std::string text = "operands of shapes ";
  for (size_t i = 0; i < operands.size(); ++i)
    text += (i == 0 ? "" : " and ") + textOf(operands[i]);
  return ShapeResult::none(text);
}

// All operands of one shape that ends with the sizes.
ShapeResult elementwiseShape(const OperatorCall &call, Shapes operands) {
  for (const Shape &shape : operands)
    if (shape != operands[0] || !endsWith(shape, call.numbers))
      return refused(operands);
  return operands[0];
}

ShapeResult mvMulShape(const OperatorCall &call, Shapes operands) {
  if (!endsWith(operands[0], call.numbers))
    return refused(operands);
  return tensorOperator("mv").shape({}, operands);
}

ShapeResult mvAddShape(const OperatorCall &call, Shapes operands) {
  Shape rows = operands[0];
  if (!endsWith(rows, call.numbers))
    return refused(operands);
  rows.erase(rows.end() - 2);
  return rows == operands[1] ? ShapeResult(operands[0]) : refused(operands);
}

Array mvAddMeaning(const OperatorCall &call, Operands operands, const Shape &) {
  Array array = *operands[0];
  auto rows = static_cast<size_t>(call.numbers[0]), columns = static_cast<size_t>(call.numbers[1]);
  for (size_t i = 0; i < array.values.size(); ++i)
    array.values[i] += operands[1]->values[i / (rows * columns) * columns + i % columns];
  return array;
}

ShapeResult mmMulShape(const OperatorCall &call, Shapes operands) {
  int64_t m = call.numbers[0], n = call.numbers[1], k = call.numbers[2];
  if (!endsWith(operands[0], std::vector{m, k}) || !endsWith(operands[1], std::vector{n, k}))
    return refused(operands);
  return tensorOperator("contract").shape({}, operands);
}

ShapeResult sameShape(const OperatorCall &, Shapes operands) { return operands[0]; }
Array sameArray(const OperatorCall &, Operands operands, const Shape &) { return *operands[0]; }

// map and zip of one function, as an operator of its own.
template <const char *const &function>
Array functionMeaning(const OperatorCall &, Operands operands, const Shape &result) {
  OperatorCall call{{}, {function}};
  return tensorOperator(operands.size() == 1 ? "map" : "zip").meaning(call, operands, result);
}

const char *const add = "add";
const char *const mul = "mul";
const char *const sub = "sub";
const char *const maximum = "max";
const char *const relu = "relu";
const char *const hyperbolic = "tanh";
const char *const exponential = "exp";

struct Hardware {
  TensorOperator op;
  size_t resultRank;
  std::string_view function = {};
};

template <const char *const &function>
Hardware elementwise(std::string_view name, std::vector<Kind> sizes, size_t operands) {
  size_t rank = sizes.size();
  return {{name, {std::move(sizes), false, operands}, elementwiseShape, functionMeaning<function>},
          rank,
          function};
}

const std::vector<Hardware> &machineOperators() {
  const std::vector<Kind> one(1, Kind::Number), two(2, Kind::Number), three(3, Kind::Number);
  static const std::vector<Hardware> operators = {
      elementwise<add>("VVAdd", one, 2),
      elementwise<sub>("VVSub", one, 2),
      elementwise<mul>("VVMul", one, 2),
      elementwise<maximum>("VVMax", one, 2),
      elementwise<relu>("VVRelu", one, 1),
      elementwise<hyperbolic>("VVTanh", one, 1),
      elementwise<exponential>("VVExp", one, 1),
      {{"MVMul", {two, false, 2}, mvMulShape, tensorOperator("mv").meaning}, 1},
      {{"MVAdd", {two, false, 2}, mvAddShape, mvAddMeaning}, 2, add},
      {{"MMMul", {three, false, 2}, mmMulShape, tensorOperator("contract").meaning}, 2},
      elementwise<add>("MMAdd", two, 2),
      elementwise<add>("ScalarAdd", {}, 2),
      elementwise<mul>("ScalarMul", {}, 2),
  };
  return operators;
}

} // namespace

std::span<const TensorOperator> hardwareOperators() {
  static const std::vector<TensorOperator> all = [] {
    std::vector<TensorOperator> result;
    for (const Hardware &hardware : machineOperators())
      result.push_back(hardware.op);
    for (std::string_view move : {"toChip", "toDram", "toOutput"})
      result.push_back({move, {{}, false, 1}, sameShape, sameArray});
    return result;
  }();
  return all;
}

static const Hardware *hardwareNamed(std::string_view name) {
  auto found = std::ranges::find(machineOperators(), name,
                                 [](const Hardware &hardware) { return hardware.op.name; });
  return found == machineOperators().end() ? nullptr : &*found;
}

std::optional<size_t> resultRank(std::string_view name) {
  const Hardware *known = hardwareNamed(name);
  return known ? std::optional(known->resultRank) : std::nullopt;
}

std::string_view functionOf(std::string_view name) {
  const Hardware *known = hardwareNamed(name);
  return known ? known->function : std::string_view();
}

bool isOfMachines(std::string_view function) {
  return !function.empty() && std::ranges::find(machineOperators(), function,
                                                &Hardware::function) != machineOperators().end();
}

int64_t productsOf(std::string_view name, std::span<const int64_t> sizes) {
  if (name != "MVMul" && name != "MMMul")
    return 0;
  int64_t products = 1;
  for (int64_t size : sizes)
    products *= size;
  return products;
}

const OperatorSet &allOperators() {
  static const OperatorSet set = [] {
    OperatorSet all;
    all.add(movementOperators());
    all.add(computationOperators());
    all.add(hardwareOperators());
    return all;
  }();
  return set;
}

} // namespace headrace::rewrite
