#include "frontend/onnx/import/Operators.h"

#include "frontend/onnx/import/MachineLearningOperators.h"
#include "frontend/onnx/import/MicrosoftOperators.h"

#include <map>

namespace headrace::onnx {

using Table = std::map<std::pair<std::string, std::string>, const Operator *>;

/// Imports of operators with this `since` know every earlier form.
static constexpr int64_t kOldestSince = 7;

static Table buildTable() {
  Table table;
  auto add = [&](const char *domain, std::initializer_list<OperatorFamily> families) {
    for (OperatorFamily family : families)
      for (const Operator &entry : family)
        if (*entry.opType) // a math function that ONNX does not have
          table.emplace(std::pair(domain, entry.opType), &entry);
  };
  add("", {arithmeticOperators(),   activationOperators(),    logicOperators(),
           conversionOperators(),   linearOperators(),        windowOperators(),
           quantizationOperators(), normalizationOperators(), reductionOperators(),
           layoutOperators(),       indexingOperators(),      valueOperators(),
           attentionOperators(),    rotaryOperators(),        sequenceOperators(),
           lossOperators(),         randomOperators(),        elementOperators(),
           searchOperators(),       paddingOperators(),       resizeOperators(),
           gridOperators(),         regionOperators(),        transposedWindowOperators(),
           poolPlaceOperators(),    signalOperators(),        recurrentOperators(),
           determinantOperators()});
  add("ai.onnx.ml",
      {featureOperators(), linearModelOperators(), supportVectorOperators(), treeOperators()});
  add("ai.onnx.preview", {previewOperators()});
  add("ai.onnx.preview.training", {trainingOperators()});
  add("com.microsoft", {microsoftFusedOperators(), microsoftNormalizationOperators(),
                        microsoftAttentionOperators(), microsoftGroupedAttentionOperators(),
                        microsoftQuantizedOperators(), microsoftWeightOperators()});
  return table;
}

const Operator *findOperator(const std::string &domain, const std::string &opType, int64_t opset) {
  static const Table table = buildTable();
  auto found = table.find({domain, opType});
  if (found == table.end())
    return nullptr;
  int64_t since = found->second->since;
  if (domain.empty() && since > std::max(opset, kOldestSince))
    return nullptr;
  return found->second;
}

const Operator *operatorOf(const Node &node, int64_t opset) {
  return findOperator(node.domain, node.opType, node.opset.value_or(opset));
}

void importNode(const Node &node, ImportState &state) {
  if (node.outputs.empty())
    throw Error(ErrorKind::InvalidModel, node.describe() + ": expected an output, got none");
  NodeContext c(node, state);
  const Operator *op = operatorOf(node, state.opset);
  if (!op)
    c.fail(ErrorKind::Unsupported, "the operator is not supported (opset {0})", state.opset);
  bool allKnown = op->evaluate && c.inputCount() > 0;
  for (size_t i = 0; allKnown && i < c.inputCount(); ++i)
    allKnown = !c.has(i) || c.known(i);
  state.unknown.clear();
  if (allKnown && c.has(0))
    if (auto result = op->evaluate(c))
      return c.result(*result);
  op->import(c);
}

} // namespace headrace::onnx
