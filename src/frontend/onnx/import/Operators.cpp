#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

static std::unordered_map<std::string, const Operator *> buildTable() {
  std::unordered_map<std::string, const Operator *> table;
  for (OperatorFamily family :
       {arithmeticOperators(),    activationOperators(), logicOperators(),
        linearOperators(),        windowOperators(),     quantizationOperators(),
        normalizationOperators(), reductionOperators(),  layoutOperators(),
        indexingOperators(),      valueOperators(),      elementOperators(),
        searchOperators(),        paddingOperators(),    resizeOperators(),
        gridOperators(),          regionOperators(),     transposedWindowOperators(),
        poolPlaceOperators(),     signalOperators(),     recurrentOperators(),
        determinantOperators()})
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

} // namespace headrace::onnx
