#include "driver/DeclaredValues.h"

#include "frontend/onnx/import/Importer.h"

#include <algorithm>

namespace headrace {

static ValueSpec specOf(const onnx::ValueInfo &value) {
  ValueSpec spec{value.name, value.typeText(), {}};
  if (!value.shape)
    return spec;
  spec.shape.emplace();
  for (const onnx::Dim &dim : *value.shape) {
    if (dim.value)
      spec.shape->emplace_back(*dim.value);
    else
      spec.shape->emplace_back(onnx::isNamed(dim) ? dim.symbol : "");
  }
  return spec;
}

std::vector<ValueSpec> specsOf(const std::vector<onnx::ValueInfo> &values) {
  std::vector<ValueSpec> specs;
  for (const onnx::ValueInfo &value : values)
    specs.push_back(specOf(value));
  return specs;
}

DeclaredValues declaredValues(const onnx::Graph &graph) {
  DeclaredValues declared;
  for (const onnx::ValueInfo &input : graph.inputs) {
    bool hasDefault = std::ranges::find(graph.initializers, input.name, &onnx::Initializer::name) !=
                      graph.initializers.end();
    (hasDefault ? declared.defaults : declared.inputs).push_back(specOf(input));
  }
  declared.outputs = specsOf(graph.outputs);
  return declared;
}

} // namespace headrace
