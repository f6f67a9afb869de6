#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

static std::unordered_map<std::string, const Operator *> buildTable() {
  std::unordered_map<std::string, const Operator *> table;
  for (OperatorFamily family :
       {arithmeticOperators(), activationOperators(), logicOperators(), linearOperators(),
        windowOperators(), quantizationOperators(), normalizationOperators(), reductionOperators(),
        layoutOperators(), indexingOperators(), valueOperators()})
    for (const Operator &entry : family)
      if (*entry.opType) // an elementary function that ONNX does not have
        table.emplace(entry.opType, &entry);
  return table;
}

const Operator *findOperator(const std::string &opType, int64_t opset) {
  static const auto table = buildTable();
  auto found = table.find(opType);
  return found == table.end() || found->second->since > opset ? nullptr : found->second;
}

const Operator *operatorOf(const Node &node, int64_t opset) {
  return node.domain.empty() ? findOperator(node.opType, node.opset.value_or(opset)) : nullptr;
}

void importNode(const Node &node, ImportState &state) {
  if (node.outputs.empty())
    throw Error(ErrorKind::InvalidModel, node.describe() + ": expected an output, found none");
  NodeContext c(node, state);
  const Operator &op = *operatorOf(node, state.opset);
  bool allKnown = op.evaluate && c.inputCount() > 0;
  for (size_t i = 0; allKnown && i < c.inputCount(); ++i)
    allKnown = !c.has(i) || c.known(i);
  state.unknown.clear();
  if (allKnown && c.has(0))
    if (auto result = op.evaluate(c))
      return c.result(*result);
  op.import(c);
}

} // namespace headrace::onnx
