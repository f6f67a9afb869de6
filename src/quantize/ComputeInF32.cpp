#include "frontend/onnx/import/GraphView.h"

#include "quantize/Prepare.h"

namespace headrace::quantize {

/// TensorProto.DataType.
static constexpr int64_t kSingleCode = 1, kHalfCode = 10;

static bool isHalf(const std::optional<DType> &type) { return type == DType::F16; }

static void convert(Tensor &tensor) {
  if (tensor && tensor.dtype() == DType::F16)
    tensor = tensor.converted(DType::F32);
}

static onnx::Node castNode(const std::string &from, const std::string &to, int64_t code) {
  onnx::Attribute type;
  type.name = "to";
  type.i = code;
  return {to + "_cast", "Cast", "", {from}, {to}, {type}};
}

static void convertInside(onnx::Graph &graph) {
  for (onnx::Initializer &initializer : graph.initializers)
    convert(initializer.tensor);
  for (onnx::Node &node : graph.nodes)
    for (onnx::Attribute &attribute : node.attributes) {
      convert(attribute.tensor);
      bool namesType = attribute.name == "to" || attribute.name == "dtype";
      if (namesType && attribute.kind == onnx::Attribute::Int && attribute.i == kHalfCode)
        attribute.i = kSingleCode;
      if (attribute.graph) {
        attribute.graph = std::make_shared<onnx::Graph>(*attribute.graph);
        for (auto *values : {&attribute.graph->inputs, &attribute.graph->outputs})
          for (onnx::ValueInfo &value : *values)
            if (isHalf(value.dtype))
              value.dtype = DType::F32;
        attribute.graph->valueInfo.clear();
        convertInside(*attribute.graph);
      }
    }
}

static void rename(onnx::Graph &graph, const std::string &from, const std::string &to) {
  for (onnx::Node &node : graph.nodes) {
    for (std::string &input : node.inputs)
      if (input == from)
        input = to;
    for (onnx::Attribute &attribute : node.attributes)
      if (attribute.graph)
        rename(*attribute.graph, from, to);
  }
}

void computeInSingle(onnx::Graph &graph) {
  convertInside(graph);
  onnx::FreshNames fresh(graph);
  std::vector<onnx::Node> before;
  for (const onnx::ValueInfo &input : graph.inputs)
    if (isHalf(input.dtype)) {
      std::string single = fresh(input.name + "_single");
      rename(graph, input.name, single);
      before.push_back(castNode(input.name, single, kSingleCode));
    }
  graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
  for (const onnx::ValueInfo &output : graph.outputs)
    if (isHalf(output.dtype)) {
      std::string single = fresh(output.name + "_single");
      rename(graph, output.name, single);
      for (onnx::Node &node : graph.nodes)
        for (std::string &result : node.outputs)
          if (result == output.name)
            result = single;
      graph.nodes.push_back(castNode(single, output.name, kHalfCode));
    }
}

} // namespace headrace::quantize
