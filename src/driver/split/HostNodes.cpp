#include "driver/split/HostNodes.h"

#include "frontend/onnx/read/TensorReader.h"
#include "targets/Host.h"

#include <algorithm>

namespace headrace::split {

using operators::Attribute, operators::BodyOutput, operators::HostNode, operators::HostOperator;

/// Nothing for graphs, which the plan of the node has, and for declared types.
static std::optional<Attribute::Value> valueOf(const onnx::Attribute &attribute) {
  switch (attribute.kind) {
  case onnx::Attribute::Float:
    return attribute.f;
  case onnx::Attribute::Int:
    return attribute.i;
  case onnx::Attribute::String:
    return attribute.s;
  case onnx::Attribute::Tensor:
    return attribute.stringTensor ? RuntimeValue(attribute.stringTensor)
                                  : RuntimeValue(attribute.tensor);
  case onnx::Attribute::Floats:
    return attribute.floats;
  case onnx::Attribute::Ints:
    return attribute.ints;
  case onnx::Attribute::Strings:
    return attribute.strings;
  case onnx::Attribute::Graph:
  case onnx::Attribute::Type:
    break;
  }
  return std::nullopt;
}

/// The name of an element type that ONNX gives a code.
static std::string typeOfCode(int64_t code) {
  if (code == onnx::kStringCode)
    return "string";
  auto dtype = onnx::dtypeOfCode(static_cast<int32_t>(std::clamp<int64_t>(code, 0, 99)));
  return dtype ? std::string(nameOf(*dtype)) : "of code " + std::to_string(code);
}

static std::vector<BodyOutput> outputsOf(const onnx::Graph &body) {
  std::vector<BodyOutput> outputs;
  for (const onnx::ValueInfo &declared : body.outputs) {
    BodyOutput &output =
        outputs.emplace_back(BodyOutput{declared.name, declared.dtype, declared.isString, {}});
    for (const onnx::Dim &dim : declared.shape.value_or(std::vector<onnx::Dim>()))
      output.shape.push_back(dim.value.value_or(0));
  }
  return outputs;
}

HostNode hostNodeOf(const onnx::Node &node, int64_t opset) {
  HostNode result{node.name, node.opType, node.domain, opset, node.inputs, node.outputs, {}, {}};
  for (const onnx::Attribute &attribute : node.attributes) {
    if (std::optional<Attribute::Value> value = valueOf(attribute))
      result.attributes.push_back({attribute.name, std::move(*value)});
    if (attribute.graph)
      result.bodies.emplace(attribute.name, outputsOf(*attribute.graph));
  }
  if (node.opType == "Cast")
    for (Attribute &attribute : result.attributes)
      if (const auto *code = attribute.as<int64_t>(); code && attribute.name == "to")
        attribute.value = typeOfCode(*code);
  return result;
}

const HostOperator *findHostOperator(const onnx::Node &node, int64_t opset) {
  return operators::findHostOperator(node.domain, node.opType, opset);
}

bool yieldsStrings(const onnx::Node &node) {
  if (node.opType == "Cast") {
    const onnx::Attribute *to = node.find("to");
    return to && to->kind == onnx::Attribute::Int && to->i == onnx::kStringCode;
  }
  return node.opType == "Constant" && (node.find("value_string") || node.find("value_strings"));
}

bool isCheaperOnHost(const onnx::Node &node, int64_t opset, const std::string &target) {
  const HostOperator *host =
      target.starts_with(hostTarget) ? findHostOperator(node, opset) : nullptr;
  return host && host->isCheaper && host->isCheaper(hostNodeOf(node, opset));
}

} // namespace headrace::split
