#include "frontend/onnx/read/StringLabels.h"

#include <algorithm>
#include <numeric>

namespace headrace::onnx {

static constexpr const char *kStringLabels = "classlabels_strings";

/// The attribute for labels that are numbers; null if the node is not a classifier.
static const char *numberLabels(const Node &node) {
  if (node.domain != "ai.onnx.ml")
    return nullptr;
  if (node.opType == "TreeEnsembleClassifier")
    return "classlabels_int64s";
  bool isOther = node.opType == "LinearClassifier" || node.opType == "SVMClassifier";
  return isOther ? "classlabels_ints" : nullptr;
}

static Attribute listOf(std::string name, std::vector<int64_t> numbers) {
  Attribute result;
  result.name = std::move(name);
  result.kind = Attribute::Ints;
  result.ints = std::move(numbers);
  return result;
}

/// Changes the classifier, and returns the node after it.
static Node separated(Node &classifier, const char *numbers) {
  std::vector<std::string> labels = classifier.getStrings(kStringLabels);
  std::vector<int64_t> positions(labels.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::erase_if(classifier.attributes, [&](const Attribute &attribute) {
    return attribute.name == kStringLabels || attribute.name == numbers;
  });
  classifier.attributes.push_back(listOf(numbers, positions));

  Node encoder;
  encoder.name = classifier.name.empty() ? "" : classifier.name + "/labels";
  encoder.opType = "LabelEncoder";
  encoder.domain = classifier.domain;
  encoder.opset = classifier.opset;
  encoder.outputs = {classifier.outputs[0]};
  classifier.outputs[0] += "/positions";
  encoder.inputs = {classifier.outputs[0]};
  encoder.attributes.push_back(listOf("keys_int64s", positions));
  Attribute &values = encoder.attributes.emplace_back();
  values.name = "values_strings";
  values.kind = Attribute::Strings;
  values.strings = std::move(labels);
  return encoder;
}

void separateStringLabels(std::vector<Node> &nodes) {
  std::vector<Node> result;
  result.reserve(nodes.size());
  for (Node &node : nodes) {
    for (Attribute &attribute : node.attributes)
      if (attribute.graph)
        separateStringLabels(attribute.graph->nodes);
    const char *numbers = numberLabels(node);
    bool isNamed = numbers && !node.getStrings(kStringLabels).empty() && !node.outputs.empty() &&
                   !node.outputs[0].empty();
    result.push_back(std::move(node));
    if (isNamed) {
      Node encoder = separated(result.back(), numbers);
      result.push_back(std::move(encoder));
    }
  }
  nodes = std::move(result);
}

} // namespace headrace::onnx
