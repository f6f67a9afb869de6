// Comparisons, logic, selection and conversion of element types.
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/read/TensorReader.h"

using namespace mlir;

namespace headrace::onnx {

using Compare = ScalarMath::Compare;

template <Compare kind> static void compare(NodeContext &c) {
  Value lhs = c.input(0, kind == Compare::Equal ? Accepts::Any : Accepts::Numbers);
  Value rhs = c.input(1);
  c.checkSameType(0, 1);
  c.result(
      c.map({lhs, rhs}, [](ScalarMath &m, ValueRange x) { return m.compare(kind, x[0], x[1]); }));
}

template <class Op, Accepts accepts> static void bitwise(NodeContext &c) {
  Value lhs = c.input(0, accepts), rhs = c.input(1);
  c.checkSameType(0, 1);
  if (isa<FloatType>(c.type(0).getElementType()))
    c.fail(ErrorKind::TypeMismatch, "{0}: expected integers, found {1}", c.nameOfInput(0),
           typeText(c.type(0).getElementType()));
  c.result(c.map({lhs, rhs}, [](ScalarMath &m, ValueRange x) { return m.op<Op>(x[0], x[1]); }));
}

static void importNot(NodeContext &c) {
  c.result(c.map(c.input(0, Accepts::Booleans), [](ScalarMath &m, ValueRange x) {
    return m.op<arith::XOrIOp>(x[0], m.number(x[0], 1));
  }));
}

static void importIsNaN(NodeContext &c) {
  c.result(c.map(c.input(0, Accepts::Floats), [](ScalarMath &m, ValueRange x) {
    return m.op<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0]);
  }));
}

static void importIsInf(NodeContext &c) {
  bool positive = c.node.getInt("detect_positive", 1) != 0;
  bool negative = c.node.getInt("detect_negative", 1) != 0;
  c.result(c.map(c.input(0, Accepts::Floats), [&](ScalarMath &m, ValueRange x) {
    double infinity = std::numeric_limits<double>::infinity();
    Value high = m.compare(Compare::Equal, x[0], m.number(x[0], infinity));
    Value low = m.compare(Compare::Equal, x[0], m.number(x[0], -infinity));
    Value never = m.numberOf(high.getType(), 0);
    return m.op<arith::OrIOp>(positive ? high : never, negative ? low : never);
  }));
}

static void importWhere(NodeContext &c) {
  Value condition = c.input(0, Accepts::Booleans), yes = c.input(1), no = c.input(2);
  c.checkSameType(1, 2);
  c.result(c.map({condition, yes, no},
                 [](ScalarMath &m, ValueRange x) { return m.select(x[0], x[1], x[2]); }));
}

static void importCast(NodeContext &c) {
  int64_t code = c.node.getInt("to", 0);
  auto dtype = dtypeOfCode(static_cast<int32_t>(std::clamp<int64_t>(code, 0, 1000)));
  if (!dtype)
    c.fail(ErrorKind::Unsupported, "element type {0} of attribute 'to' is not supported", code);
  c.result(c.cast(c.input(0), elementType(*dtype, c.node.outputs.front(), c.context)));
}

static void importCastLike(NodeContext &c) {
  c.result(c.cast(c.input(0), c.type(1).getElementType()));
}

OperatorFamily logicOperators() {
  static const Operator table[] = {
      {"Equal", 7, compare<Compare::Equal>, shapes::equal},
      {"Greater", 7, compare<Compare::Greater>, shapes::greater},
      {"Less", 7, compare<Compare::Less>, shapes::less},
      {"GreaterOrEqual", 12, compare<Compare::GreaterOrEqual>},
      {"LessOrEqual", 12, compare<Compare::LessOrEqual>},
      {"And", 7, bitwise<arith::AndIOp, Accepts::Booleans>},
      {"Or", 7, bitwise<arith::OrIOp, Accepts::Booleans>},
      {"Xor", 7, bitwise<arith::XOrIOp, Accepts::Booleans>},
      {"BitwiseAnd", 18, bitwise<arith::AndIOp, Accepts::Numbers>},
      {"BitwiseOr", 18, bitwise<arith::OrIOp, Accepts::Numbers>},
      {"BitwiseXor", 18, bitwise<arith::XOrIOp, Accepts::Numbers>},
      {"Not", 7, importNot, shapes::logicalNot},
      {"IsNaN", 9, importIsNaN},
      {"IsInf", 10, importIsInf},
      {"Where", 9, importWhere, shapes::where},
      {"Cast", 7, importCast, shapes::cast},
      {"CastLike", 15, importCastLike},
  };
  return table;
}

} // namespace headrace::onnx
