#include "frontend/onnx/import/Operators.h"

#include "frontend/onnx/import/ops/microsoft/Microsoft.h"

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
        if (*entry.opType) // an elementary function that ONNX does not have
          table.emplace(std::pair(domain, entry.opType), &entry);
  };
  add("", {arithmeticOperators(), activationOperators(), logicOperators(), conversionOperators(),
           linearOperators(), windowOperators(), quantizationOperators(), normalizationOperators(),
           reductionOperators(), layoutOperators(), indexingOperators(), valueOperators(),
           attentionOperators(), rotaryOperators(), sequenceOperators(), lossOperators(),
           randomOperators(), upsampleOperators()});
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

} // namespace headrace::onnx
