// Functions of cells: sizes by repetition, types of scalars, density.
#include "script/graph/GraphWriter.h"
#include <algorithm>

namespace headrace::script {

static std::optional<double> densityOf(const Node &node, const Known &a, const Known *b) {
  using enum CellFunction;
  auto share = [](const Known &known) -> std::optional<double> {
    if (!known.type.isMatrix())
      return 1;
    return known.density;
  };
  std::optional<double> left = share(a), right = b ? share(*b) : std::nullopt;
  if (!b && !describe(node.cell).logical)
    return apply(node.cell, 0) == 0 ? left : std::optional(1.0);
  switch (node.cell) {
  case Multiply:
  case And:
    return left && right ? std::optional(*left * *right) : std::nullopt;
  case Divide:
  case Power:
    return left;
  case Add:
  case Subtract:
    if (!a.type.isMatrix() || (b && !b->type.isMatrix()))
      return 1;
    return left && right ? std::optional(std::min(1.0, *left + *right)) : std::nullopt;
  default:
    return describe(node.cell).logical ? std::nullopt : std::optional(1.0);
  }
}

/// The sizes of a matrix whose operands are repeated to one size.
void GraphWriter::broadcast(Node &node) {
  Known &result = node.known;
  result.type = Type::matrix();
  bool first = true;
  auto join = [&](Size &into, const Size &size, const Known &operand) {
    if (into.isConstant(1))
      into = size;
    else if (!size.isConstant(1) && !fits(into, size, node.irregular))
      fail("'" + operationName(node) + "' of matrices of " + sizesText(result) + " and " +
           sizesText(operand) + ": expected equal sizes, a row or a column");
    else if (!into.known() && size.known() && !size.isConstant(1))
      into = size;
    else if (!size.known() && into.isConstant(1))
      into = {};
  };
  for (int input : node.inputs) {
    const Known &operand = at(input).known;
    if (!operand.type.isMatrix())
      continue;
    if (first) {
      result.rows = operand.rows;
      result.cols = operand.cols;
    } else {
      Known before = result;
      join(result.rows, operand.rows, operand);
      result.cols = before.cols;
      join(result.cols, operand.cols, operand);
    }
    first = false;
  }
}

static Size valueOf(CellFunction function, const Size &a, const Size &b) {
  using enum CellFunction;
  auto left = a.constant(), right = b.constant();
  switch (function) {
  case Negate:
    return Size(0) - a;
  case Add:
    return a + b;
  case Subtract:
    return a - b;
  case Multiply:
    return a * b;
  case Divide:
    return left && right && *right && *left % *right == 0 ? Size(*left / *right) : Size();
  case Min:
    return left && right ? Size(std::min(*left, *right)) : sameSize(a, b) ? a : Size();
  case Max:
    return left && right ? Size(std::max(*left, *right)) : sameSize(a, b) ? a : Size();
  default:
    return {};
  }
}

/// Replaces a matrix filled with one value by the value, if another operand has its dimensions.
void GraphWriter::dropFills(std::vector<int> &operands) const {
  for (int &operand : operands) {
    if (at(operand).op != Op::Fill)
      continue;
    const Known &fill = at(operand).known;
    for (int other : operands) {
      const Known &known = at(other).known;
      if (at(other).op != Op::Fill && known.type.isMatrix() && sameSize(known.rows, fill.rows) &&
          sameSize(known.cols, fill.cols)) {
        operand = at(operand).inputs[0];
        break;
      }
    }
  }
}

int GraphWriter::cell(CellFunction function, std::vector<int> operands) {
  dropFills(operands);
  Node node{Op::Cell, std::move(operands)};
  node.cell = function;
  bool matrix = false, unknown = false;
  std::vector<ValueType> types;
  for (int input : node.inputs) {
    const Type &type = at(input).known.type;
    if (type.isString() && inRun()) {
      bool compares = (function >= CellFunction::Less && function <= CellFunction::NotEqual) ||
                      function == CellFunction::IfElse;
      if (!compares)
        fail("'" + std::string(describe(function).name) + "' expects numeric values, got a string",
             ErrorKind::TypeMismatch);
    } else if (!type.isMatrix() && !type.isScalar() && type.data != DataType::Unknown) {
      fail("'" + std::string(describe(function).name) + "' expects numbers and matrices, got " +
               toText(type),
           ErrorKind::TypeMismatch);
    }
    matrix |= type.isMatrix();
    unknown |= type.data == DataType::Unknown;
    types.push_back(type.value);
  }
  if (matrix) {
    broadcast(node);
    const Known &a = at(node.inputs[0]).known;
    node.known.density =
        densityOf(node, a, node.inputs.size() > 1 ? &at(node.inputs[1]).known : nullptr);
  } else if (!unknown) {
    node.known.type = Type::scalar(scalarResult(function, types));
    Size second = node.inputs.size() > 1 ? at(node.inputs[1]).known.value : Size();
    node.known.value = valueOf(function, at(node.inputs[0]).known.value, second);
    // A value that follows from sizes alone needs no computing.
    if (node.known.value.known() && node.known.type.value == ValueType::Integer)
      return sizeValue(node.known.value);
  }
  return add(std::move(node));
}

} // namespace headrace::script
