#include "frontend/onnx/import/ops/Composing.h"

#include "frontend/onnx/read/TensorReader.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

Type elementTypeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

Type innerType(Type type) {
  bool isHalf = isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
  return isHalf ? Type(Float32Type::get(type.getContext())) : type;
}

Value add(NodeContext &c, Value a, Value b) {
  return c.map({a, b}, [](ScalarMath &m, ValueRange x) { return m.add(x[0], x[1]); });
}

Value subtract(NodeContext &c, Value a, Value b) {
  return c.map({a, b}, [](ScalarMath &m, ValueRange x) { return m.sub(x[0], x[1]); });
}

Value multiply(NodeContext &c, Value a, Value b) {
  return c.map({a, b}, [](ScalarMath &m, ValueRange x) { return m.mul(x[0], x[1]); });
}

Value divide(NodeContext &c, Value a, Value b) {
  return c.map({a, b}, [](ScalarMath &m, ValueRange x) { return m.div(x[0], x[1]); });
}

Value scaled(NodeContext &c, Value x, double factor) {
  if (factor == 1)
    return x;
  return c.map(x, [&](ScalarMath &m, ValueRange v) { return m.mul(v[0], m.number(v[0], factor)); });
}

Value select(NodeContext &c, Value condition, Value yes, Value no) {
  return c.map({condition, yes, no},
               [](ScalarMath &m, ValueRange x) { return m.select(x[0], x[1], x[2]); });
}

Value positions(NodeContext &c, AffineExpr size) {
  Type number = c.builder.getI64Type();
  auto counted = c.builder.create<hr::ComputeOp>(
      c.loc, c.checkedType({size}, number), /*inputs=*/ValueRange{}, /*tables=*/ValueRange{},
      symbolMap({size}, c.context), c.builder.getAffineMapArrayAttr({}), /*reduced=*/0,
      /*initial=*/TypedAttr());
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.createBlock(&counted.getBody());
  Value index = c.builder.create<hr::IndexOp>(c.loc, 0);
  Value cast = c.builder.create<arith::IndexCastOp>(c.loc, number, index);
  c.builder.create<hr::YieldOp>(c.loc, cast);
  return counted;
}

Value part(NodeContext &c, Value x, int64_t axis, AffineExpr start, AffineExpr size, int64_t step) {
  SymbolicShape sizes = withDim(shapeOf(x), axis, size);
  SymbolicShape starts = withDim(SymbolicShape(sizes.size(), c.dim(0)), axis, start);
  SmallVector<int64_t> steps(sizes.size(), 1);
  steps[axis] = step;
  return c.slice(x, starts, sizes, steps);
}

Value concat(NodeContext &c, ValueRange parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : c.infer<hr::ConcatOp>(parts, axis);
}

SymbolicShape withDim(SymbolicShape shape, int64_t axis, AffineExpr size) {
  shape[axis] = size;
  return shape;
}

std::string oneOf(NodeContext &c, const char *attribute, const char *otherwise,
                  ArrayRef<const char *> allowed) {
  std::string found = c.node.getString(attribute, otherwise);
  std::string expected;
  for (StringRef each : allowed) {
    if (each == found)
      return found;
    expected += (expected.empty() ? "" : ", ") + inQuotes(each);
  }
  c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected one of {1}, got {2}", attribute,
         expected, inQuotes(found));
}

Type typeAttribute(NodeContext &c, const char *attribute) {
  int64_t code = c.node.getInt(attribute, 0);
  if (code == 0)
    return {};
  auto dtype = dtypeOfCode(static_cast<int32_t>(std::clamp<int64_t>(code, 0, 1000)));
  if (!dtype)
    c.fail(ErrorKind::Unsupported, "element type {0} of attribute '{1}' is not supported", code,
           attribute);
  return toElementType(*dtype, c.context);
}

Value alignedOperand(NodeContext &c, Accepts accepts) {
  Value operand = c.input(1, accepts);
  if (c.opset >= 7 || !c.node.find("axis"))
    return operand;
  int64_t axis = c.axis(c.node.getInt("axis", 0), c.rank(0));
  SymbolicShape shape = c.shape(1);
  int64_t after = c.rank(0) - axis - c.rank(1);
  if (after < 0)
    c.fail(ErrorKind::ShapeMismatch, "{0}: {1} does not fit {2} from axis {3} on", c.nameOfInput(1),
           c.text(shape), c.text(c.shape(0)), axis);
  shape.append(after, c.dim(1));
  return c.reshape(operand, shape);
}

Value indices(NodeContext &c, size_t input) {
  Type found = c.type(input).getElementType();
  if (!found.isSignlessInteger(32) && !found.isSignlessInteger(64))
    c.fail(ErrorKind::TypeMismatch, "{0}: expected i32 or i64, got {1}", c.nameOfInput(input),
           typeText(found));
  return c.cast(c.input(input), c.builder.getI64Type());
}

} // namespace headrace::onnx
