#include "frontend/aten/Table.h"

#include <unordered_map>

namespace headrace::aten {

static std::unordered_map<std::string, Write> buildTable() {
  std::unordered_map<std::string, Write> table;
  for (const Operators &family :
       {arithmeticOperators(), activationOperators(), comparisonOperators(), conversionOperators(),
        viewOperators(), movementOperators(), creationOperators(), indexingOperators(),
        reductionOperators(), normalizationOperators(), productOperators(), windowOperators(),
        resizeOperators(), attentionOperators(), lossOperators(), orderOperators(), partOperators(),
        samplingOperators()})
    for (const Operator &each : family)
      table.emplace(each.name, each.write);
  return table;
}

const Write *findOperator(const std::string &name) {
  static const std::unordered_map<std::string, Write> table = buildTable();
  auto found = table.find(name);
  if (found == table.end())
    found = table.find(name.substr(0, name.find('.')));
  return found == table.end() ? nullptr : &found->second;
}

} // namespace headrace::aten
