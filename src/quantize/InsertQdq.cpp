#include "quantize/InsertQdq.h"

#include "quantize/Scale.h"
#include "quantize/Weights.h"
#include <algorithm>
#include <cstring>

namespace headrace::quantize {

namespace {

class Writer {
public:
  Writer(const onnx::Graph &source, const QuantizationPlan &plan,
         const std::vector<ActivationScale> &scales, const Options &options)
      : source(source), plan(plan), scales(scales), options(options), view(source), fresh(source) {}

  QdqGraph run();

private:
  struct Constant { // int8 numbers and the float that stands for them
    QuantizedWeight weight;
    int64_t axis;
    std::string value;
  };

  std::string addConstant(const std::string &base, const Tensor &tensor);
  std::string addScales(const std::string &base, const std::vector<float> &numbers);
  void addNode(const std::string &opType, std::vector<std::string> inputs,
               const std::string &output, std::optional<int64_t> axis = {});
  void addPair(const std::string &value, const std::string &number);
  void addConstantValue(const std::string &value, const Tensor &numbers);
  std::string weightOf(const Weight &weight, const QuantizedWeight &numbers);
  std::string biasOf(const Unit &unit, const QuantizedWeight &weight);
  void prepareUnits();
  void addSourceNode(size_t index);
  std::string scaleOfGroup(size_t group);
  float inputScale(const Unit &unit) const { return scales[plan.groupOf.at(unit.inputs[0])].scale; }
  std::string zeroPoint(size_t count);

  const onnx::Graph &source;
  const QuantizationPlan &plan;
  const std::vector<ActivationScale> &scales;
  const Options &options;
  onnx::GraphView view;
  onnx::FreshNames fresh;
  QdqGraph result;
  std::map<size_t, std::string> groupScales;            // names
  std::map<size_t, std::string> zeroPoints;             // by how many there are
  std::map<std::string, std::vector<Constant>> weights; // by the value that they come from
  /// Inputs that nodes read from elsewhere than in the source.
  std::map<std::pair<size_t, size_t>, std::string> replaced;
  std::map<size_t, const Unit *> unitOfProduct;
};

} // namespace

std::string Writer::addConstant(const std::string &base, const Tensor &tensor) {
  std::string name = fresh(base);
  result.graph.initializers.push_back({name, tensor});
  return name;
}

/// One number is a scalar.
std::string Writer::addScales(const std::string &base, const std::vector<float> &numbers) {
  Shape shape;
  if (numbers.size() != 1)
    shape = {static_cast<int64_t>(numbers.size())};
  Tensor tensor = Tensor::allocate(DType::F32, shape);
  std::ranges::copy(numbers, tensor.as<float>());
  return addConstant(base, tensor);
}

std::string Writer::zeroPoint(size_t count) {
  std::string &name = zeroPoints[count];
  if (name.empty()) {
    Shape shape;
    if (count != 1)
      shape = {static_cast<int64_t>(count)};
    Tensor zeros = Tensor::allocate(DType::I8, shape);
    std::memset(zeros.data(), 0, zeros.bytes());
    name = addConstant(count == 1 ? "zero_point" : "zero_point_" + std::to_string(count), zeros);
  }
  return name;
}

std::string Writer::scaleOfGroup(size_t group) {
  std::string &name = groupScales[group];
  if (name.empty())
    name = addScales(plan.groups[group].sources[0] + "_scale", {scales[group].scale});
  return name;
}

void Writer::addNode(const std::string &opType, std::vector<std::string> inputs,
                     const std::string &output, std::optional<int64_t> axis) {
  onnx::Node node{output + "_" + opType, opType, "", std::move(inputs), {output}, {}};
  if (axis) {
    onnx::Attribute attribute;
    attribute.name = "axis";
    attribute.i = *axis;
    node.attributes.push_back(attribute);
  }
  result.graph.nodes.push_back(std::move(node));
}

/// `number` to integers, and back to a float that all readers of `value` take.
void Writer::addPair(const std::string &value, const std::string &number) {
  std::string scale = scaleOfGroup(plan.groupOf.at(value)), zero = zeroPoint(1);
  std::string integers = fresh(value + "_quantized");
  std::string back = number == value ? fresh(value + "_dequantized") : value;
  addNode("QuantizeLinear", {number, scale, zero}, integers);
  addNode("DequantizeLinear", {integers, scale, zero}, back);
  result.dequantized[value] = back;
}

void Writer::addConstantValue(const std::string &value, const Tensor &numbers) {
  size_t group = plan.groupOf.at(value);
  Tensor integers = Tensor::allocate(DType::I8, numbers.shape());
  for (int64_t i = 0; i < numbers.elements(); ++i)
    integers.as<int8_t>()[i] =
        static_cast<int8_t>(quantized(numbers.as<float>()[i], scales[group].scale));
  std::string back = fresh(value + "_dequantized");
  addNode("DequantizeLinear",
          {addConstant(value + "_quantized", integers), scaleOfGroup(group), zeroPoint(1)}, back);
  result.dequantized[value] = back;
}

static bool isSame(const QuantizedWeight &a, const QuantizedWeight &b) {
  return a.scales == b.scales && a.integers.bytes() == b.integers.bytes() &&
         std::memcmp(a.integers.data(), b.integers.data(), a.integers.bytes()) == 0;
}

/// Products that share a weight read the same integers, if these are the same.
std::string Writer::weightOf(const Weight &weight, const QuantizedWeight &numbers) {
  for (const Constant &known : weights[weight.value])
    if (known.axis == weight.channelAxis && isSame(known.weight, numbers))
      return known.value;
  std::string back = fresh(weight.value + "_dequantized");
  std::optional<int64_t> axis;
  if (numbers.scales.size() != 1)
    axis = weight.channelAxis;
  std::string integers = addConstant(weight.value + "_quantized", numbers.integers);
  std::string scale = addScales(weight.value + "_scale", numbers.scales);
  addNode("DequantizeLinear", {integers, scale, zeroPoint(numbers.scales.size())}, back, axis);
  weights[weight.value].push_back({numbers, weight.channelAxis, back});
  return back;
}

std::string Writer::biasOf(const Unit &unit, const QuantizedWeight &weight) {
  const onnx::Node &node = source.nodes[unit.bias->node];
  const std::string &name = node.inputs[unit.bias->input];
  QuantizedBias bias = quantizedBias(*unit.bias, weight, inputScale(unit));
  std::optional<int64_t> axis;
  if (bias.scales.size() != 1)
    axis = unit.bias->axis;
  std::string back = fresh(name + "_dequantized");
  std::string integers = addConstant(name + "_quantized", bias.integers);
  addNode("DequantizeLinear", {integers, addScales(name + "_scale", bias.scales)}, back, axis);
  return back;
}

void Writer::prepareUnits() {
  for (const Unit &unit : plan.units) {
    result.weightScales.emplace_back();
    if (!unit.weight)
      continue;
    QuantizedWeight weight = quantizedWeight(unit, inputScale(unit), options);
    replaced[{unit.nodes[0], unit.weight->input}] = weightOf(*unit.weight, weight);
    if (unit.bias)
      replaced[{unit.bias->node, unit.bias->input}] = biasOf(unit, weight);
    result.weightScales.back() = weight.scales;
    unitOfProduct[unit.nodes[0]] = &unit;
  }
}

/// Factors of Gemm are in its numbers now.
static void dropFactors(onnx::Node &node) {
  std::erase_if(node.attributes, [](const onnx::Attribute &attribute) {
    return attribute.name == "alpha" || attribute.name == "beta";
  });
}

void Writer::addSourceNode(size_t index) {
  onnx::Node node = source.nodes[index];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (auto found = replaced.find({index, i}); found != replaced.end())
      node.inputs[i] = found->second;
    else if (auto read = result.dequantized.find(node.inputs[i]); read != result.dequantized.end())
      node.inputs[i] = read->second;
  }
  if (unitOfProduct.contains(index) && node.opType == "Gemm")
    dropFactors(node);
  // An output of the graph keeps its name, and is what the integers stand for.
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::string &output : node.outputs)
    if (std::string value = output; plan.groupOf.contains(value) && !view.constant(value)) {
      if (view.isOutput(value))
        output = fresh(value + "_float");
      pairs.emplace_back(value, output);
    }
  result.graph.nodes.push_back(std::move(node));
  for (const auto &[value, number] : pairs)
    addPair(value, number);
}

QdqGraph Writer::run() {
  result.graph = source;
  result.graph.nodes.clear();
  for (const onnx::ValueInfo &input : source.inputs)
    if (plan.groupOf.contains(input.name))
      addPair(input.name, input.name);
  for (const auto &[value, group] : plan.groupOf)
    if (const Tensor *numbers = view.constant(value))
      addConstantValue(value, *numbers);
  prepareUnits();
  for (size_t i = 0; i < source.nodes.size(); ++i)
    addSourceNode(i);
  return std::move(result);
}

QdqGraph insertQdq(const onnx::Graph &graph, const QuantizationPlan &plan,
                   const std::vector<ActivationScale> &scales, const Options &options) {
  return Writer(graph, plan, scales, options).run();
}

} // namespace headrace::quantize
