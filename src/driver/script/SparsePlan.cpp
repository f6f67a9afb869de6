#include "driver/script/SparsePlan.h"

namespace headrace::script {

static bool keepsZero(const Dag &dag, const Node &node) {
  using enum CellFunction;
  auto literal = [&](int input) -> std::optional<double> {
    const Node &operand = dag.nodes[input];
    if (operand.op != Op::Literal || operand.known.type.isString())
      return std::nullopt;
    return std::visit(
        [](const auto &value) -> double {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
            return 0;
          else
            return static_cast<double>(value);
        },
        operand.literal);
  };
  if (node.inputs.size() == 1)
    return apply(node.cell, 0) == 0;
  const Node &left = dag.nodes[node.inputs[0]], &right = dag.nodes[node.inputs[1]];
  if (left.isMatrix() && right.isMatrix())
    return false;
  bool leftSparse = left.isMatrix();
  if (auto number = literal(node.inputs[leftSparse ? 1 : 0]))
    return (leftSparse ? apply(node.cell, 0, *number) : apply(node.cell, *number, 0)) == 0;
  // Scalars that are neither NaN, infinite nor 0, as they nearly always are.
  return node.cell == Multiply || (node.cell == Divide && leftSparse) || node.cell == And;
}

static bool staysSparse(const Dag &dag, const Node &node) {
  using enum CellFunction;
  auto isSparse = [&](int input) { return input >= 0 && dag.nodes[input].known.sparse; };
  switch (node.op) {
  case Op::Cell: {
    if (node.inputs.size() == 3)
      return false;
    bool first = isSparse(node.inputs[0]);
    bool second = node.inputs.size() > 1 && isSparse(node.inputs[1]);
    if (!first && !second)
      return false;
    if (node.inputs.size() == 1 || !dag.nodes[node.inputs[0]].isMatrix() ||
        !dag.nodes[node.inputs[1]].isMatrix())
      return keepsZero(dag, node);
    if (node.cell == Multiply)
      return true;
    return first && second && apply(node.cell, 0, 0) == 0;
  }
  case Op::MatMul:
    return isSparse(node.inputs[0]) && isSparse(node.inputs[1]);
  case Op::Transpose:
    return isSparse(node.inputs[0]);
  case Op::Bind:
    for (int input : node.inputs)
      if (!isSparse(input))
        return false;
    return true;
  case Op::WithValues:
    return true;
  default:
    return node.known.sparse;
  }
}

void markSparse(Dag &dag) {
  for (Node &node : dag.nodes)
    node.known.sparse = staysSparse(dag, node);
}

void exploitSparsity(Dag &dag, std::span<std::pair<std::string, int>> results) {
  markSparse(dag);
  (void)results;
}

} // namespace headrace::script
