// Nodes that only move constants, as exporters write them for the weights of recurrent layers
// (Slice, Concat), are computed once, when the plan is made. What reads them then has constants,
// which are packed, instead of values that every run copies anew.
#include "driver/staged/GraphPlan.h"
#include "driver/staged/StageBuilder.h"
#include "frontend/onnx/read/MovingOperators.h"

#include <algorithm>

namespace headrace::staged {

static bool onlyRearranges(const onnx::Node &node) {
  const onnx::MovingOperator *known = onnx::findMovingOperator(node.opType);
  return node.domain.empty() && known && known->onlyRearranges;
}

void GraphPlan::computeConstantNodes() {
  std::vector<bool> isKnown(names.size());
  for (size_t value = 0; value < names.size(); ++value)
    isKnown[value] = constants[value].tensor() != nullptr;
  Frame frame{*this, nullptr, {}, useCounts, Done(nodes.size(), true)};
  frame.values.resize(names.size());
  bool hasSome = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PlannedNode &node = nodes[i];
    bool isConstant =
        !node.isHostAlways && onlyRearranges(*node.node) &&
        std::all_of(node.reads.begin(), node.reads.end(), [&](int id) { return isKnown[id]; });
    if (!isConstant)
      continue;
    frame.done[i] = false;
    hasSome = true;
    for (int output : node.outputs)
      if (output >= 0)
        isKnown[output] = true;
  }
  if (!hasSome)
    return;
  try {
    std::shared_ptr<const Stage> stage = StageBuilder(*this, frame, /*similar=*/nullptr).build();
    std::vector<Tensor> results = stage->model->reference({});
    for (size_t i = 0; i < results.size(); ++i)
      constants[stage->outputs[i]] = results[i];
    for (size_t i = stage->nodes.size(); i-- > 0;)
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(stage->nodes[i]));
  } catch (const Error &) {
    return; // a node that is wrong is one where it runs
  }
  dropUnneeded();
  for (size_t value = 0; value < names.size(); ++value)
    if (useCounts[value] == 0)
      constants[value] = {};
}

} // namespace headrace::staged
