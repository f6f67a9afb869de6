// Operators of com.microsoft that ONNX Runtime's optimizer fuses: activations with a bias, products
// and convolutions with what follows them.
#include "dialect/scalar/Formulas.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/MicrosoftOperators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/windows/Convolution.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

/// GELU of the input plus a bias, if there is one.
template <bool byTanh> static void importBiasGelu(NodeContext &c) {
  SmallVector<Value> inputs{c.input(0, Accepts::Floats)};
  if (c.has(1)) {
    inputs.push_back(c.input(1));
    c.checkSameType(0, 1);
  }
  c.result(c.map(inputs, [](ScalarMath &m, ValueRange x) {
    return formulas::gelu(m, x.size() > 1 ? m.add(x[0], x[1]) : x[0], byTanh);
  }));
}

static void importQuickGelu(NodeContext &c) {
  double alpha = c.node.getFloat("alpha", 1.702f);
  c.result(c.map(c.input(0, Accepts::Floats), [&](ScalarMath &m, ValueRange x) {
    return m.mul(x[0], formulas::sigmoid(m, m.mul(x[0], m.number(x[0], alpha))));
  }));
}

/// Half of the last dimension times the GELU of the other half.
static void importBiasSplitGelu(NodeContext &c) {
  Value x = add(c, c.input(0, Accepts::Floats), c.input(1, Accepts::Floats));
  int64_t last = c.rank(0) - 1;
  auto half = c.rank(0) > 0 ? exactQuotient(c.shape(0)[last], c.dim(2)) : std::nullopt;
  if (!half)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected an even last dimension, got {1}",
           c.nameOfInput(0), c.text(c.shape(0)));
  c.result(c.map({part(c, x, last, c.dim(0), *half), part(c, x, last, *half, *half)},
                 [](ScalarMath &m, ValueRange v) {
                   return m.mul(v[0], formulas::gelu(m, v[1], /*byTanh=*/false));
                 }));
}

static Value activated(NodeContext &c, Value x, const std::string &name, ArrayRef<float> numbers) {
  auto number = [&](size_t i, float otherwise) {
    return static_cast<double>(i < numbers.size() ? numbers[i] : otherwise);
  };
  return c.map(x, [&](ScalarMath &m, ValueRange v) -> Value {
    Value x = v[0];
    if (name == "Relu")
      return formulas::relu(m, x);
    if (name == "Sigmoid")
      return formulas::sigmoid(m, x);
    if (name == "Tanh")
      return m.op<math::TanhOp>(x);
    if (name == "LeakyRelu")
      return formulas::leakyRelu(m, x, m.number(x, number(0, 0.01f)));
    if (name == "Clip")
      return m.min(m.max(x, m.number(x, number(0, std::numeric_limits<float>::lowest()))),
                   m.number(x, number(1, std::numeric_limits<float>::max())));
    if (name == "HardSigmoid")
      return formulas::hardSigmoid(m, x, number(0, 0.2f), number(1, 0.5f));
    c.fail(ErrorKind::Unsupported, "activation {0} is not supported", inQuotes(name));
  });
}

static Value transposedLast(NodeContext &c, Value x, bool swapsLast, bool movesFirst) {
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  if (rank < 2)
    return x;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  // The first dimension goes behind those of the batch.
  if (movesFirst)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (swapsLast)
    std::swap(order[rank - 2], order[rank - 1]);
  return c.transpose(x, order);
}

static void importFusedMatMul(NodeContext &c) {
  Value lhs = c.input(0, Accepts::Floats), rhs = c.input(1);
  c.checkSameType(0, 1);
  auto isSet = [&](const char *attribute) { return c.node.getInt(attribute, 0) != 0; };
  lhs = transposedLast(c, lhs, isSet("transA"), isSet("transBatchA"));
  rhs = transposedLast(c, rhs, isSet("transB"), isSet("transBatchB"));
  c.result(scaled(c, matrixProduct(c, lhs, rhs), c.node.getFloat("alpha", 1)));
}

static void importFusedGemm(NodeContext &c) {
  Value lhs = c.input(0, Accepts::Floats), rhs = c.input(1);
  c.checkSameType(0, 1);
  c.checkRank(0, 2);
  c.checkRank(1, 2);
  lhs = transposedLast(c, lhs, c.node.getInt("transA", 0) != 0, false);
  rhs = transposedLast(c, rhs, c.node.getInt("transB", 0) != 0, false);
  Value result = scaled(c, matrixProduct(c, lhs, rhs), c.node.getFloat("alpha", 1));
  if (c.has(2))
    result = add(c, result, scaled(c, c.input(2, Accepts::Floats), c.node.getFloat("beta", 1)));
  std::string activation = c.node.getString("activation", "");
  float numbers[] = {c.node.getFloat("activation_alpha", 0.01f),
                     c.node.getFloat("activation_beta", 0)};
  c.result(activation.empty() ? result : activated(c, result, activation, numbers));
}

/// A convolution, a bias, another tensor, then an activation.
static void importFusedConv(NodeContext &c) {
  Value result = convolution(c);
  if (c.has(3))
    result = add(c, result, c.input(3, Accepts::Floats));
  std::string activation = c.node.getString("activation", "");
  const Attribute *numbers = c.node.find("activation_params");
  if (!activation.empty())
    result =
        activated(c, result, activation, numbers ? ArrayRef(numbers->floats) : ArrayRef<float>());
  c.result(result);
}

OperatorFamily microsoftFusedOperators() {
  static const Operator table[] = {
      {"Gelu", 1, importBiasGelu<false>},        {"BiasGelu", 1, importBiasGelu<false>},
      {"FastGelu", 1, importBiasGelu<true>},     {"QuickGelu", 1, importQuickGelu},
      {"BiasSplitGelu", 1, importBiasSplitGelu}, {"FusedMatMul", 1, importFusedMatMul},
      {"FusedGemm", 1, importFusedGemm},         {"FusedConv", 1, importFusedConv},
  };
  return table;
}

} // namespace headrace::onnx
