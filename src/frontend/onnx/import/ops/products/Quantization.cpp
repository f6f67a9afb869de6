// Floats to integers and float8 and back, with scales and zero points for the tensor, for each
// position of an axis or for blocks of them.
#include "frontend/onnx/import/ops/products/Quantization.h"

#include "frontend/onnx/import/ops/Composing.h"

using namespace mlir;

namespace headrace::onnx {

Value quantized(ScalarMath &m, Value number, Value zeroPoint, Type type) {
  Value rounded = m.op<math::RoundEvenOp>(number);
  if (zeroPoint)
    rounded = m.add(rounded, m.convert(zeroPoint, rounded.getType()));
  // Conversions to wider integers saturate by themselves.
  if (isSmallInteger(type)) {
    bool isUnsigned = type.isUnsignedInteger();
    double count = 1u << type.getIntOrFloatBitWidth();
    double low = isUnsigned ? 0 : -count / 2, high = (isUnsigned ? count : count / 2) - 1;
    rounded = m.max(m.min(rounded, m.number(rounded, high)), m.number(rounded, low));
  }
  return m.convert(rounded, type);
}

/// Whether numbers are quantized to, or from, this type.
static bool isQuantizedType(Type type) {
  if (isSmallFloat(type) || isSmallInteger(type))
    return true;
  return isa<IntegerType>(type) &&
         (type.getIntOrFloatBitWidth() == 8 || type.getIntOrFloatBitWidth() == 16);
}

/// Each element `count` times along an axis, as far as `size` goes.
static Value repeated(NodeContext &c, Value tensor, int64_t axis, int64_t count, AffineExpr size) {
  SymbolicShape shape = shapeOf(tensor), wide;
  for (auto [i, dim] : llvm::enumerate(shape)) {
    wide.push_back(dim);
    if (static_cast<int64_t>(i) == axis)
      wide.push_back(c.dim(1));
  }
  Value apart = c.reshape(tensor, wide);
  wide[axis + 1] = c.dim(count);
  Value all = c.broadcast(apart, wide);
  shape[axis] = shape[axis] * count;
  all = c.reshape(all, shape);
  SmallVector<AffineExpr> starts(shape.size(), c.dim(0));
  SmallVector<int64_t> steps(shape.size(), 1);
  shape[axis] = size;
  return c.slice(all, starts, shape, steps);
}

/// Scale or zero point, input `i`, in a shape that broadcasts to that of input 0.
static Value parameter(NodeContext &c, size_t i) {
  Value value = c.input(i);
  SymbolicShape data = c.shape(0), shape = c.shape(i);
  if (llvm::all_of(shape, [](AffineExpr size) { return constantValue(size) == 1; }) &&
      (shape.size() < 2 || c.node.getInt("block_size", 0) == 0))
    return c.reshape(value, {});
  int64_t axis = c.axis(c.node.getInt("axis", 1), c.rank(0));
  int64_t block = c.node.getInt("block_size", 0);
  auto mismatch = [&](const std::string &expected) {
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(i), expected,
           c.text(shape));
  };
  if (block == 0) {
    if (shape.size() != 1 || !sameSize(shape[0], data[axis]))
      mismatch("one number or " + c.text({data[axis]}));
    SymbolicShape along(data.size(), c.dim(1));
    along[axis] = shape[0];
    return c.reshape(value, along);
  }
  SymbolicShape expected = data;
  expected[axis] = (data[axis] + (block - 1)).floorDiv(block);
  if (block < 0 || shape.size() != data.size() ||
      !llvm::all_of(
          llvm::zip_equal(expected, shape),
          [](auto pair) { return sameSize(std::get<0>(pair), std::get<1>(pair)); }))
    mismatch("a number for each block (" + c.text(expected) + ")");
  return repeated(c, value, axis, block, data[axis]);
}

/// x / scale + zero point, rounded. 8-bit and smaller floats have no zero point.
void importQuantize(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  c.input(1, Accepts::Numbers);
  Type stated = typeAttribute(c, "output_dtype"), type = stated;
  if (c.has(2))
    type = c.type(2).getElementType();
  if (!type)
    type = c.builder.getIntegerType(8, /*isSigned=*/false);
  if ((stated && stated != type) || !isQuantizedType(type))
    c.fail(ErrorKind::TypeMismatch, "expected a 16-bit type or less to quantize to, got {0}",
           typeText(stated ? stated : type));
  SmallVector<Value> inputs{input, parameter(c, 1)};
  if (c.has(2) && !isSmallFloat(type))
    inputs.push_back(parameter(c, 2));
  bool saturates = c.node.getInt("saturate", 1) != 0;
  c.result(c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Type single = Float32Type::get(c.context);
    Value number = m.div(m.convert(x[0], single), m.convert(x[1], single));
    if (isSmallFloat(type))
      return m.convert(number, type, saturates);
    return quantized(m, number, x.size() > 2 ? x[2] : Value(), type);
  }));
}

/// (x - zero point) * scale
void importDequantize(NodeContext &c) {
  Value input = c.input(0);
  Type type = c.type(0).getElementType();
  if (!isQuantizedType(type) && !type.isSignlessInteger(32))
    c.fail(ErrorKind::TypeMismatch, "{0}: expected quantized values, got {1}", c.nameOfInput(0),
           typeText(type));
  c.input(1, Accepts::Floats);
  Type result = typeAttribute(c, "output_dtype");
  if (!result)
    result = c.type(1).getElementType();
  if (!isPlainFloat(result))
    c.fail(ErrorKind::TypeMismatch, "expected a float to dequantize to, got {0}", typeText(result));
  SmallVector<Value> inputs{input, parameter(c, 1)};
  if (c.has(2)) {
    c.checkSameType(0, 2);
    inputs.push_back(parameter(c, 2));
  }
  c.result(c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Type single = Float32Type::get(c.context);
    Type exact = isSmallFloat(type) ? single : Type(c.builder.getI32Type());
    Value number = m.convert(x[0], exact);
    if (x.size() > 2)
      number = m.sub(number, m.convert(x[2], exact));
    return m.convert(m.mul(m.convert(number, single), m.convert(x[1], single)), result);
  }));
}

Value scaleOfRange(ScalarMath &m, Value least, Value greatest) {
  Value zero = m.number(least, 0);
  Value range = m.sub(m.max(greatest, zero), m.min(least, zero));
  // Zeros alone have no range.
  Value isEmpty = m.compare(ScalarMath::Compare::Equal, range, zero);
  return m.select(isEmpty, m.number(least, 1), m.div(range, m.number(least, 255)));
}

Value zeroPointOfRange(ScalarMath &m, Value least, Value scale, Type byte) {
  Value zero = m.number(least, 0);
  return quantized(m, m.div(m.sub(zero, m.min(least, zero)), scale), nullptr, byte);
}

DynamicallyQuantized dynamicallyQuantized(NodeContext &c, Value x) {
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(x).size()));
  Type byte = c.builder.getIntegerType(8, /*isSigned=*/false);
  Value least = c.reduce(hr::ReduceKind::Min, x, all, false);
  Value greatest = c.reduce(hr::ReduceKind::Max, x, all, false);
  Value scale = c.map({least, greatest},
                      [](ScalarMath &m, ValueRange x) { return scaleOfRange(m, x[0], x[1]); });
  Value zeroPoint = c.map({least, scale}, [&](ScalarMath &m, ValueRange x) {
    return zeroPointOfRange(m, x[0], x[1], byte);
  });
  Value numbers = c.map({x, scale, zeroPoint}, [&](ScalarMath &m, ValueRange x) {
    return quantized(m, m.div(x[0], x[1]), x[2], byte);
  });
  return {numbers, scale, zeroPoint};
}

static void importDynamicQuantize(NodeContext &c) {
  DynamicallyQuantized found = dynamicallyQuantized(c, c.input(0, Accepts::Floats));
  c.result(found.numbers);
  c.result(found.scale, 1);
  c.result(found.zeroPoint, 2);
}

OperatorFamily quantizationOperators() {
  static const Operator table[] = {
      {"QuantizeLinear", 10, importQuantize},
      {"DequantizeLinear", 10, importDequantize},
      {"DynamicQuantizeLinear", 11, importDynamicQuantize},
      {"MatMulInteger", 10, importMatMulInteger},
      {"ConvInteger", 10, importConvInteger},
      {"QLinearMatMul", 10, importQLinearMatMul},
      {"QLinearConv", 10, importQLinearConv},
  };
  return table;
}

} // namespace headrace::onnx
