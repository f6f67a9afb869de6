#include "runtime/operators/HostOperators.h"

#include <map>

namespace headrace::operators {

using Key = std::pair<std::string, std::string>; // domain, operator

static std::map<Key, const HostOperator *> buildTable() {
  std::map<Key, const HostOperator *> table;
  for (HostFamily family :
       {controlFlowOperators(), sequenceOperators(), selectionOperators(), suppressionOperators(),
        stringOperators(), tokenizerOperators(), encodingOperators(), mapOperators(),
        stringShapeOperators(), imageOperators(), movementOperators(), regionOperators()})
    for (const HostOperator &entry : family)
      table.emplace(Key(entry.domain, entry.opType), &entry);
  return table;
}

const HostOperator *findHostOperator(const std::string &domain, const std::string &opType,
                                     int64_t version) {
  static const auto table = buildTable();
  auto found = table.find({domain, opType});
  bool exists = found != table.end() && (!domain.empty() || found->second->since <= version);
  return exists ? found->second : nullptr;
}

} // namespace headrace::operators
