#include "frontend/onnx/import/IntegerGraph.h"

#include "frontend/onnx/import/Dequantized.h"
#include "frontend/onnx/import/GraphView.h"
#include "frontend/onnx/import/IntegerSums.h"
#include "frontend/onnx/import/NodeOrder.h"
#include "frontend/onnx/read/MovingOperators.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace headrace::onnx {

namespace {

/// The operands of a product, in the form of integers.
struct Product {
  Dequantized lhs, rhs;
  std::vector<float> scale; // of the sums: one, or one for each channel
  int64_t channelAxis;      // of the sums
  // That any integers on the left give; none if both factors are computed.
  std::optional<int64_t> largestSum;
};

class Rewriter {
public:
  /// `around` as in GraphView; `fresh` has the names of the whole model.
  Rewriter(const Graph &graph, const GraphView *around, FreshNames &fresh)
      : source(graph), view(graph, around), fresh(fresh) {}
  std::optional<Graph> run();

private:
  std::optional<Dequantized> dequantized(const std::string &value) const {
    return onnx::dequantized(source, view, value);
  }
  std::optional<Product> productOf(const Node &node) const;

  std::string addConstant(const std::string &base, Tensor tensor);
  void add(const Node &from, const std::string &suffix, const char *opType,
           std::vector<std::string> inputs, const std::string &output,
           std::vector<Attribute> attributes = {});
  bool rewriteProduct(size_t at);
  std::string rightFactor(const Node &node, const Product &product);
  std::string addSums(const Node &node, const Product &product);
  void addProduct(const Node &node, const Product &product, const std::string &output);
  const Tensor *integerBias(const std::string &value, const Product &product) const;
  std::optional<Tensor> floatBias(const std::string &value) const;
  bool canAddBias(const Node &node, const Product &product) const;
  std::string besideSums(const Node &node, const std::string &name, const Tensor &numbers);
  std::string addScale(const Product &product, const std::string &output);
  void addFloats(const Node &node, const Product &product, const std::string &sums,
                 const std::string &output);
  bool rewriteMover(size_t at);
  std::optional<size_t> onlyReaderAfter(size_t at) const;
  Node withBodies(const Node &node);
  void removeUnread();

  const Graph &source;
  GraphView view;
  FreshNames &fresh;
  Graph result;
  std::set<size_t> done; // nodes that others were written for
  bool isChanged = false;
};

} // namespace

static Attribute intAttribute(const std::string &name, int64_t value) {
  Attribute attribute;
  attribute.name = name;
  attribute.i = value;
  return attribute;
}

static bool isSame(const Tensor *a, const Tensor *b) {
  if (!a || !b)
    return a == b;
  return a->dtype() == b->dtype() && a->elements() == b->elements() &&
         std::memcmp(a->data(), b->data(), a->bytes()) == 0;
}

static bool isZero(const Tensor *tensor) {
  if (!tensor)
    return true;
  const auto *bytes = static_cast<const uint8_t *>(tensor->data());
  return std::all_of(bytes, bytes + tensor->bytes(), [](uint8_t byte) { return byte == 0; });
}

std::optional<Product> Rewriter::productOf(const Node &node) const {
  bool isConv = is(node, "Conv"), isGemm = is(node, "Gemm"), isMatMul = is(node, "MatMul");
  if ((!isConv && !isGemm && !isMatMul) || !has(node, 0) || !has(node, 1) || node.outputs.empty())
    return std::nullopt;
  auto lhs = dequantized(node.inputs[0]), rhs = dequantized(node.inputs[1]);
  if (!lhs || !rhs || !lhs->isBytes() || !rhs->isBytes() || !lhs->isOneScale())
    return std::nullopt;
  const Tensor *weight = view.constant(rhs->integers);
  if ((isConv && (!weight || weight->shape().size() < 3)) ||
      (isGemm && node.getInt("transA", 0) != 0) ||
      (isGemm && has(node, 2) && node.getFloat("beta", 1) != 1))
    return std::nullopt;
  if (!rhs->isOneScale()) {
    auto rank = weight ? static_cast<int64_t>(weight->shape().size()) : -1;
    int64_t features = isConv ? 0 : isGemm && node.getInt("transB", 0) != 0 ? 0 : rank - 1;
    if (!weight || (rhs->axis < 0 ? rhs->axis + rank : rhs->axis) != features)
      return std::nullopt;
  }
  bool isFeatureFirst = isConv || (isGemm && node.getInt("transB", 0) != 0);
  std::optional<int64_t> most;
  if (weight)
    most = largestSum(lhs->type, lhs->zero, *weight, rhs->zero, isFeatureFirst);
  if (most && !fitsSums(*most))
    return std::nullopt;
  Product product{*lhs, *rhs, {}, isConv ? 1 : -1, most};
  float alpha = isGemm ? node.getFloat("alpha", 1) : 1;
  for (int64_t i = 0; i < rhs->scale->elements(); ++i)
    product.scale.push_back(*lhs->scale->as<float>() * rhs->scale->as<float>()[i] * alpha);
  // 0 times an infinite scale is NaN.
  if (!std::ranges::all_of(product.scale, [](float scale) { return std::isfinite(scale); }))
    return std::nullopt;
  return product;
}

std::string Rewriter::addConstant(const std::string &base, Tensor tensor) {
  result.initializers.push_back({fresh(base), std::move(tensor)});
  return result.initializers.back().name;
}

void Rewriter::add(const Node &from, const std::string &suffix, const char *opType,
                   std::vector<std::string> inputs, const std::string &output,
                   std::vector<Attribute> attributes) {
  std::string name = from.name.empty() ? from.outputs[0] : from.name;
  result.nodes.push_back(
      {name + suffix, opType, "", std::move(inputs), {output}, std::move(attributes)});
}

std::string Rewriter::rightFactor(const Node &node, const Product &product) {
  std::string rhs = product.rhs.integers;
  if (!is(node, "Gemm") || node.getInt("transB", 0) == 0)
    return rhs;
  Attribute order;
  order.name = "perm";
  order.kind = Attribute::Ints;
  order.ints = {1, 0};
  std::string transposed = fresh(rhs + "_transposed");
  add(node, "/weights", "Transpose", {rhs}, transposed, {order});
  return transposed;
}

std::string Rewriter::addSums(const Node &node, const Product &product) {
  std::string rhs = rightFactor(node, product), sums = fresh(node.outputs[0] + "_sums");
  bool isConv = is(node, "Conv");
  add(node, "", isConv ? "ConvInteger" : "MatMulInteger",
      {product.lhs.integers, rhs, product.lhs.zeroName, product.rhs.zeroName}, sums,
      isConv ? node.attributes : std::vector<Attribute>());
  return sums;
}

/// Adds a product of two computed factors. Long sums may overflow 32 bits; the operator, which
/// knows their length, takes care of that.
void Rewriter::addProduct(const Node &node, const Product &product, const std::string &output) {
  Tensor one = Tensor::allocate(DType::F32, {});
  *one.as<float>() = 1;
  std::string rhs = rightFactor(node, product), scale = addScale(product, output);
  add(node, "", "MatMulIntegerToFloat",
      {product.lhs.integers, rhs, scale, addConstant(output + "_one", one), product.lhs.zeroName,
       product.rhs.zeroName},
      output);
  result.nodes.back().domain = "com.microsoft";
}

/// A bias as constant integers that can be added to the sums: of their scale, along their channels.
const Tensor *Rewriter::integerBias(const std::string &value, const Product &product) const {
  std::optional<Dequantized> bias = dequantized(value);
  const Tensor *integers = bias ? view.constant(bias->integers) : nullptr;
  if (!product.largestSum || !integers || bias->type != DType::I32 ||
      integers->dtype() != DType::I32 || !isZero(bias->zero))
    return nullptr;
  // A channel whose weights are almost 0 has a tiny scale, so its bias may be any 32-bit integer.
  std::span numbers(integers->as<int32_t>(), static_cast<size_t>(integers->elements()));
  if (!std::ranges::all_of(numbers, [&](int64_t number) {
        return fitsSums(*product.largestSum + std::abs(number));
      }))
    return nullptr;
  auto rank = static_cast<int64_t>(integers->shape().size());
  bool isAlongChannels = (bias->axis < 0 ? bias->axis + rank : bias->axis) == rank - 1;
  std::span scales(bias->scale->as<float>(), static_cast<size_t>(bias->scale->elements()));
  return (bias->isOneScale() || isAlongChannels) && std::ranges::equal(product.scale, scales)
             ? integers
             : nullptr;
}

/// A bias as constant floats: given so, or what integers stand for.
std::optional<Tensor> Rewriter::floatBias(const std::string &value) const {
  if (const Tensor *constant = view.constant(value))
    return constant->dtype() == DType::F32 ? std::optional(*constant) : std::nullopt;
  std::optional<Dequantized> bias = dequantized(value);
  const Tensor *integers = bias ? view.constant(bias->integers) : nullptr;
  if (!integers || integers->dtype() != DType::I32 || !isZero(bias->zero) ||
      (!bias->isOneScale() && bias->scale->elements() != integers->elements()))
    return std::nullopt;
  Tensor floats = integers->converted(DType::F32);
  for (int64_t i = 0; i < floats.elements(); ++i)
    floats.as<float>()[i] *= bias->scale->as<float>()[bias->isOneScale() ? 0 : i];
  return floats;
}

/// Whether the third input of Conv or Gemm is a constant row, which does not make the result
/// larger.
bool Rewriter::canAddBias(const Node &node, const Product &product) const {
  if (is(node, "MatMul") || !has(node, 2))
    return true;
  std::optional<Tensor> floats;
  const Tensor *numbers = integerBias(node.inputs[2], product);
  if (!numbers)
    floats = floatBias(node.inputs[2]);
  if (floats)
    numbers = &*floats;
  if (!numbers)
    return false;
  if (!is(node, "Conv"))
    return numbers->shape().size() <= 1 ||
           (numbers->shape().size() == 2 && numbers->shape()[0] == 1);
  return numbers->shape().size() == 1 &&
         numbers->shape()[0] == view.constant(product.rhs.integers)->shape()[0];
}

/// A bias as the sums have it next to them: a convolution's in front of its spatial dimensions.
std::string Rewriter::besideSums(const Node &node, const std::string &name, const Tensor &numbers) {
  if (!is(node, "Conv"))
    return name;
  Shape shape{numbers.elements()};
  shape.resize(view.constant(dequantized(node.inputs[1])->integers)->shape().size() - 1, 1);
  return addConstant(name + "_column", numbers.reshaped(shape));
}

std::string Rewriter::addScale(const Product &product, const std::string &output) {
  Shape shape;
  if (product.scale.size() != 1)
    shape = {static_cast<int64_t>(product.scale.size())};
  Tensor scale = Tensor::allocate(DType::F32, shape);
  std::ranges::copy(product.scale, scale.as<float>());
  return addConstant(output + "_scale", scale);
}

/// The floats that the sums stand for.
void Rewriter::addFloats(const Node &node, const Product &product, const std::string &sums,
                         const std::string &output) {
  add(node, "/scale", "DequantizeLinear", {sums, addScale(product, output)}, output,
      {intAttribute("axis", product.channelAxis)});
}

/// A file may have its nodes in any order; here nodes go in it as they come.
std::optional<size_t> Rewriter::onlyReaderAfter(size_t at) const {
  std::optional<size_t> reader = view.onlyReader(source.nodes[at].outputs[0]);
  return reader && *reader > at ? reader : std::nullopt;
}

bool Rewriter::rewriteProduct(size_t at) {
  const Node &node = source.nodes[at];
  std::optional<Product> product = productOf(node);
  if (!product || !canAddBias(node, *product))
    return false;
  std::string output = node.outputs[0], sums, bias;
  if (product->largestSum)
    sums = addSums(node, *product);
  if (!is(node, "MatMul") && has(node, 2))
    bias = node.inputs[2];
  // MatMul has its bias in an addition after it.
  if (std::optional<size_t> next = is(node, "MatMul") ? onlyReaderAfter(at) : std::nullopt) {
    const Node &reader = source.nodes[*next];
    bool isAddition = is(reader, "Add") && reader.inputs.size() == 2 && reader.outputs.size() == 1;
    std::string other = isAddition ? reader.inputs[reader.inputs[0] == output ? 1 : 0] : "";
    if (integerBias(other, *product)) {
      bias = other;
      output = reader.outputs[0];
      done.insert(*next);
    }
  }
  if (const Tensor *integers = integerBias(bias, *product)) {
    std::string sum = fresh(output + "_biased");
    std::string name = besideSums(node, dequantized(bias)->integers, *integers);
    add(node, "/bias", "Add", {sums, name}, sum);
    sums = sum;
    bias.clear();
  }
  std::string floats = bias.empty() ? output : fresh(output + "_unbiased");
  if (sums.empty())
    addProduct(node, *product, floats);
  else
    addFloats(node, *product, sums, floats);
  if (!bias.empty())
    add(node, "/bias", "Add", {floats, besideSums(node, bias, *floatBias(bias))}, output);
  return true;
}

/// Whether integers of this scale are the same after floats that only move, or of which the largest
/// is selected.
static bool keepsIntegers(float scale, const std::string &opType) {
  bool selects = opType == "MaxPool" || opType == "GlobalMaxPool";
  return scale != 0 && std::isfinite(256 * scale) && (scale > 0 || !selects);
}

bool Rewriter::rewriteMover(size_t at) {
  const Node &node = source.nodes[at];
  const MovingOperator *known = findMovingOperator(node.opType);
  if (!node.domain.empty() || !known || !known->keepsIntegers || node.outputs.size() != 1 ||
      !has(node, 0))
    return false;
  std::optional<size_t> next = onlyReaderAfter(at);
  if (!next || !is(source.nodes[*next], "QuantizeLinear"))
    return false;
  const Node &quantize = source.nodes[*next];
  if (!has(quantize, 1) || quantize.outputs.size() != 1 || quantize.inputs[0] != node.outputs[0])
    return false;
  const Tensor *scale = view.constant(quantize.inputs[1]);
  const Tensor *zero = has(quantize, 2) ? view.constant(quantize.inputs[2]) : nullptr;
  if (!scale || !zero || scale->elements() != 1 || scale->dtype() != DType::F32 ||
      !keepsIntegers(*scale->as<float>(), node.opType))
    return false;
  Node moved = node;
  size_t inputs = node.opType == "Concat" ? node.inputs.size() : 1;
  for (size_t i = 0; i < inputs; ++i) {
    std::optional<Dequantized> input = dequantized(node.inputs[i]);
    if (!input || !input->isBytes() || !isSame(input->scale, scale) ||
        input->type != zero->dtype() ||
        !(isSame(input->zero, zero) || (!input->zero && isZero(zero))))
      return false;
    moved.inputs[i] = input->integers;
  }
  moved.outputs = quantize.outputs;
  done.insert(*next);
  result.nodes.push_back(std::move(moved));
  return true;
}

/// The node with the graphs inside of it rewritten.
Node Rewriter::withBodies(const Node &node) {
  Node result = node;
  for (Attribute &attribute : result.attributes)
    if (attribute.graph)
      if (auto body = Rewriter(*attribute.graph, &view, fresh).run()) {
        attribute.graph = std::make_shared<Graph>(std::move(*body));
        isChanged = true;
      }
  return result;
}

/// Floats that nobody reads any more.
void Rewriter::removeUnread() {
  std::set<std::string> read;
  for (const ValueInfo &output : result.outputs)
    read.insert(output.name);
  for (const Node &node : result.nodes)
    for (const std::string &value : readsOf(node))
      read.insert(value);
  std::erase_if(result.nodes, [&](const Node &node) {
    return is(node, "DequantizeLinear") && !node.outputs.empty() && !read.contains(node.outputs[0]);
  });
}

std::optional<Graph> Rewriter::run() {
  result = source;
  result.nodes.clear();
  for (size_t i = 0; i < source.nodes.size(); ++i) {
    if (done.contains(i))
      continue;
    if (rewriteProduct(i) || rewriteMover(i))
      isChanged = true;
    else
      result.nodes.push_back(withBodies(source.nodes[i]));
  }
  if (!isChanged)
    return std::nullopt;
  removeUnread();
  return std::move(result);
}

static bool isQuantized(const Graph &graph) {
  return std::ranges::any_of(graph.nodes, [](const Node &node) {
    return (node.domain.empty() && node.opType == "DequantizeLinear") ||
           std::ranges::any_of(node.attributes, [](const Attribute &attribute) {
             return attribute.graph && isQuantized(*attribute.graph);
           });
  });
}

std::optional<Graph> integerGraph(const Graph &graph) {
  if (!isQuantized(graph))
    return std::nullopt;
  FreshNames fresh(graph);
  return Rewriter(graph, nullptr, fresh).run();
}

} // namespace headrace::onnx
