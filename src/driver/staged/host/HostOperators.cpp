#include "driver/staged/host/HostOperators.h"

#include "frontend/onnx/read/TensorReader.h"

#include <map>

namespace headrace::staged {

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

const HostOperator *findHostOperator(const onnx::Node &node, int64_t opset) {
  static const auto table = buildTable();
  auto found = table.find({node.domain, node.opType});
  bool isThere = found != table.end() && (!node.domain.empty() || found->second->since <= opset);
  return isThere ? found->second : nullptr;
}

bool yieldsStrings(const onnx::Node &node) {
  if (node.opType == "Cast") {
    const onnx::Attribute *to = node.find("to");
    return to && to->kind == onnx::Attribute::Int && to->i == onnx::kStringCode;
  }
  return node.opType == "Constant" && (node.find("value_string") || node.find("value_strings"));
}

bool isCheaperOnHost(const onnx::Node &node, int64_t opset, const std::string &target) {
  const HostOperator *host = target.starts_with("cpu") ? findHostOperator(node, opset) : nullptr;
  return host && host->isCheaper && host->isCheaper(node);
}

} // namespace headrace::staged
