#include "quantize/Prepare.h"

#include "frontend/onnx/import/GraphView.h"
#include "frontend/onnx/import/NodeOrder.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <algorithm>

namespace headrace::quantize {

/// The first operator set with QuantizeLinear.
static constexpr int64_t kFirstOpset = 10;
/// The format of files that goes with operator set 13, initializers need not be inputs in it.
static constexpr int64_t kMinIrVersion = 7;

static void sortNodes(onnx::Graph &graph) {
  std::vector<onnx::Node> sorted;
  for (const onnx::Node *node : onnx::orderedNodes(graph))
    sorted.push_back(*node);
  graph.nodes = std::move(sorted);
}

static void removeConstantInputs(onnx::Graph &graph) {
  std::erase_if(graph.inputs, [&](const onnx::ValueInfo &input) {
    return std::ranges::any_of(graph.initializers, [&](const onnx::Initializer &initializer) {
      return initializer.name == input.name;
    });
  });
}

static void checkIsFloat(const onnx::Graph &graph) {
  for (const onnx::Node &node : graph.nodes)
    for (const char *opType : {"QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul",
                               "ConvInteger", "MatMulInteger"})
      if (node.domain.empty() && node.opType == opType)
        throw Error(ErrorKind::InvalidModel,
                    node.describe() + ": expected a model that is not quantized yet");
}

void removeUnusedConstants(onnx::Graph &graph) {
  onnx::GraphView view(graph);
  auto isUnused = [&](const std::string &value) {
    return view.readers(value).empty() && !view.isSeenElsewhere(value);
  };
  std::erase_if(graph.initializers,
                [&](const onnx::Initializer &initializer) { return isUnused(initializer.name); });
  std::erase_if(graph.nodes, [&](const onnx::Node &node) {
    return node.domain.empty() && node.opType == "Constant" && isUnused(node.outputs[0]);
  });
}

void prepare(onnx::Model &model) {
  auto opset = model.opsets.find("");
  if (opset == model.opsets.end() || opset->second < kFirstOpset)
    throw Error(ErrorKind::Unsupported,
                "expected operator set " + std::to_string(kFirstOpset) +
                    " or newer, which has QuantizeLinear, got " +
                    (opset == model.opsets.end() ? "none" : std::to_string(opset->second)) +
                    "; onnx.version_converter makes a newer model of it");
  checkIsFloat(model.graph);
  sortNodes(model.graph);
  removeConstantInputs(model.graph);
  computeInSingle(model.graph);
  foldBatchNormalization(model.graph);
  removeUnusedConstants(model.graph);
  // Declared types and shapes of inner values are not kept up to date.
  model.graph.valueInfo.clear();
  model.irVersion = std::max(model.irVersion, kMinIrVersion);
}

} // namespace headrace::quantize
