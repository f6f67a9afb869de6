// Operators of com.microsoft on quantized tensors, which ONNX Runtime's quantizer writes.
#include "dialect/scalar/Formulas.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/MicrosoftOperators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/products/Quantization.h"
#include "frontend/onnx/import/ops/windows/Windows.h"

using namespace mlir;

namespace headrace::onnx {

/// A scale or zero point, which is one number.
static Value oneNumber(NodeContext &c, size_t i) {
  if (constantValue(c.product(c.shape(i))) != 1)
    c.fail(ErrorKind::Unsupported, "{0}: expected one number, got {1}", c.nameOfInput(i),
           c.text(c.shape(i)));
  return c.reshape(c.input(i), {});
}

/// Input `i` in f32; scale and zero point follow it.
static Value dequantized(NodeContext &c, size_t i) {
  SmallVector<Value> inputs{c.input(i, Accepts::Integers), oneNumber(c, i + 1)};
  if (c.has(i + 2)) {
    c.checkSameType(i, i + 2);
    inputs.push_back(oneNumber(c, i + 2));
  }
  Type wide = c.builder.getI32Type(), single = c.builder.getF32Type();
  return c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Value number = m.convert(x[0], wide);
    if (x.size() > 2)
      number = m.sub(number, m.convert(x[2], wide));
    return m.mul(m.convert(number, single), m.convert(x[1], single));
  });
}

/// Quantizes `x` to the type of input `like`, with inputs `i` and `i + 1` as scale and zero point.
static Value quantizedAs(NodeContext &c, Value x, size_t i, size_t like) {
  Type type = c.type(like).getElementType();
  SmallVector<Value> inputs{x, oneNumber(c, i)};
  if (c.has(i + 1))
    inputs.push_back(oneNumber(c, i + 1));
  return c.map(inputs, [&](ScalarMath &m, ValueRange v) {
    Value number = m.div(v[0], m.convert(v[1], v[0].getType()));
    return quantized(m, number, v.size() > 2 ? v[2] : Value(), type);
  });
}

using Binary = Value (*)(NodeContext &, Value, Value);
template <Binary formula> static void importBinary(NodeContext &c) {
  c.result(quantizedAs(c, formula(c, dequantized(c, 0), dequantized(c, 3)), 6, 0));
}

using Unary = Value (*)(NodeContext &, Value);
template <Unary formula> static void importUnary(NodeContext &c) {
  c.result(quantizedAs(c, formula(c, dequantized(c, 0)), 3, 0));
}

static Value sigmoid(NodeContext &c, Value x) {
  return c.map(x, [](ScalarMath &m, ValueRange v) { return formulas::sigmoid(m, v[0]); });
}

static Value leakyRelu(NodeContext &c, Value x) {
  double slope = c.node.getFloat("alpha", 0.01f);
  return c.map(x, [&](ScalarMath &m, ValueRange v) {
    return formulas::leakyRelu(m, v[0], m.number(v[0], slope));
  });
}

static Value softmax(NodeContext &c, Value x) {
  int64_t axis = c.axis(c.node.getInt("axis", -1), c.rank(0));
  if (c.node.getInt("opset", 13) < 13 && axis != c.rank(0) - 1)
    c.fail(ErrorKind::Unsupported, "softmax over several axes is not supported");
  return c.infer<hr::SoftmaxOp>(x, axis, /*log=*/false);
}

static Value globalAverage(NodeContext &c, Value x) {
  if (c.rank(0) < 3)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 3 or more, got {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
  int64_t first = c.node.getInt("channels_last", 0) != 0 ? 1 : 2;
  return c.reduce(hr::ReduceKind::Mean, x,
                  llvm::to_vector(llvm::seq<int64_t>(first, first + c.rank(0) - 2)), true);
}

static Value average(NodeContext &c, Value x) {
  if (c.node.getInt("channels_last", 0) != 0)
    c.fail(ErrorKind::Unsupported, "windows over channels last are not supported");
  return averagePool(c, x, CountedPads::WholeWindow);
}

/// A condition first, then two tensors and the result, each with scale and zero point.
static void importWhere(NodeContext &c) {
  c.checkSameType(1, 4);
  Value chosen = select(c, c.input(0, Accepts::Booleans), dequantized(c, 1), dequantized(c, 4));
  c.result(quantizedAs(c, chosen, 7, 1));
}

/// Scale and zero point of the result, then each tensor with its own.
static void importConcat(NodeContext &c) {
  SmallVector<Value> parts;
  for (size_t i = 2; i + 1 < c.inputCount(); i += 3)
    parts.push_back(dequantized(c, i));
  if (parts.empty())
    c.fail(ErrorKind::InvalidModel, "expected tensors to concatenate, got none");
  c.result(quantizedAs(c, concat(c, parts, c.axis(c.node.getInt("axis", 1), c.rank(2))), 0, 2));
}

/// The int8 matmul (inputs 0 and 1) as f32.
static Value productAsFloats(NodeContext &c, Value sums, Value scale, size_t weightScale,
                             size_t bias) {
  SmallVector<Value> inputs{sums, scale, c.input(weightScale, Accepts::Floats)};
  if (c.has(bias))
    inputs.push_back(c.input(bias, Accepts::Floats));
  return c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Value number = m.mul(m.convert(x[0], x[1].getType()), m.mul(x[1], x[2]));
    return x.size() > 3 ? m.add(number, x[3]) : number;
  });
}

static void importMatMulIntegerToFloat(NodeContext &c) {
  Value sums = unwrappedProduct(c, 0, 1, 4, 5);
  c.result(productAsFloats(c, sums, oneNumber(c, 2), 3, 6));
}

/// The left matrix is quantized by its own range.
static void importDynamicQuantizeMatMul(NodeContext &c) {
  DynamicallyQuantized lhs = dynamicallyQuantized(c, c.input(0, Accepts::Floats));
  Value sums = unwrappedProduct(c, {lhs.numbers, lhs.zeroPoint}, 1, 3);
  c.result(productAsFloats(c, sums, lhs.scale, 2, 4));
}

/// alpha * A' B' + C in integers, if C has the product's scale; the result is quantized, or in
/// f32 if it has no scale.
static void importGemm(NodeContext &c) {
  c.checkRank(0, 2);
  c.checkRank(3, 2);
  auto wide = [&](size_t i, const char *transposed, bool isRight) {
    Value x = c.cast(c.input(i, Accepts::Integers), c.builder.getI32Type());
    bool isTransposed = c.node.getInt(transposed, 0) != 0;
    if (c.has(i + 2)) {
      Value zero = c.cast(c.input(i + 2), c.builder.getI32Type());
      bool isOne = constantValue(c.product(c.shape(i + 2))) == 1;
      SymbolicShape column{c.product(c.shape(i + 2)), c.dim(1)};
      x = subtract(c, x,
                   isOne                     ? c.reshape(zero, {})
                   : isTransposed && isRight ? c.reshape(zero, column)
                                             : zero);
    }
    return isTransposed ? c.transpose(x, {1, 0}) : x;
  };
  Value sums = matrixProduct(c, wide(0, "transA", false), wide(3, "transB", true));
  if (c.has(6))
    sums = add(c, sums, c.input(6, Accepts::Integers));
  double alpha = c.node.getFloat("alpha", 1);
  Value result =
      c.map({sums, oneNumber(c, 1), c.input(4, Accepts::Floats)}, [&](ScalarMath &m, ValueRange x) {
        Value scale = m.mul(m.mul(m.number(x[1], alpha), x[1]), x[2]);
        return m.mul(m.convert(x[0], x[1].getType()), scale);
      });
  c.result(c.has(7) ? quantizedAs(c, result, 7, c.has(8) ? 8 : 0) : result);
}

OperatorFamily microsoftQuantizedOperators() {
  static const Operator table[] = {
      {"QLinearAdd", 1, importBinary<add>},
      {"QLinearMul", 1, importBinary<multiply>},
      {"QLinearSigmoid", 1, importUnary<sigmoid>},
      {"QLinearLeakyRelu", 1, importUnary<leakyRelu>},
      {"QLinearSoftmax", 1, importUnary<softmax>},
      {"QLinearGlobalAveragePool", 1, importUnary<globalAverage>},
      {"QLinearAveragePool", 1, importUnary<average>},
      {"QLinearConcat", 1, importConcat},
      {"QLinearWhere", 1, importWhere},
      {"QGemm", 1, importGemm},
      {"MatMulIntegerToFloat", 1, importMatMulIntegerToFloat},
      {"DynamicQuantizeMatMul", 1, importDynamicQuantizeMatMul},
      {"DynamicQuantizeLSTM", 1, importDynamicQuantizeLstm},
      {"QuantizeLinear", 1, importQuantize},
      {"DequantizeLinear", 1, importDequantize},
  };
  return table;
}

} // namespace headrace::onnx
