// Comparisons, logic and selection.
#include "frontend/onnx/import/ops/Composing.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

using Compare = ScalarMath::Compare;

template <Compare kind> static void compare(NodeContext &c) {
  Value lhs = c.input(0, kind == Compare::Equal ? Accepts::Any : Accepts::Numbers);
  Value rhs = alignedOperand(c, Accepts::Any);
  c.checkSameType(0, 1);
  c.result(
      c.map({lhs, rhs}, [](ScalarMath &m, ValueRange x) { return m.compare(kind, x[0], x[1]); }));
}

template <class Op, Accepts accepts> static void bitwise(NodeContext &c) {
  Value lhs = c.input(0, accepts), rhs = alignedOperand(c, Accepts::Any);
  c.checkSameType(0, 1);
  c.result(c.map({lhs, rhs}, [](ScalarMath &m, ValueRange x) { return m.op<Op>(x[0], x[1]); }));
}

static void importBitwiseNot(NodeContext &c) {
  c.result(c.map(c.input(0, Accepts::Integers), [](ScalarMath &m, ValueRange x) {
    return m.op<arith::XOrIOp>(x[0], m.number(x[0], -1));
  }));
}

/// Signed numbers keep their sign to the right. By as many bits as the type has or more, nothing
/// but that is left.
static void importBitShift(NodeContext &c) {
  Value number = c.input(0, Accepts::Integers), distance = c.input(1, Accepts::Integers);
  c.checkSameType(0, 1);
  std::string direction = c.node.getString("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    c.fail(ErrorKind::InvalidModel, "attribute 'direction': expected LEFT or RIGHT, got {0}",
           inQuotes(direction));
  c.result(c.map({number, distance}, [&](ScalarMath &m, ValueRange x) {
    Type type = x[0].getType();
    double width = type.getIntOrFloatBitWidth();
    // As an unsigned number, a negative distance is far.
    Type plain = c.builder.getIntegerType(type.getIntOrFloatBitWidth(), /*isSigned=*/false);
    Value by = m.fromBits(m.bits(x[1]), plain);
    Value isFar = m.compare(Compare::GreaterOrEqual, by, m.number(by, width));
    Value most = m.number(x[0], width - 1), zero = m.number(x[0], 0);
    if (direction == "RIGHT" && !type.isUnsignedInteger())
      return m.op<arith::ShRSIOp>(x[0], m.select(isFar, most, x[1]));
    Value near = m.select(isFar, zero, x[1]);
    Value shifted =
        direction == "LEFT" ? m.op<arith::ShLIOp>(x[0], near) : m.op<arith::ShRUIOp>(x[0], near);
    return m.select(isFar, zero, shifted);
  }));
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
      {"BitwiseAnd", 18, bitwise<arith::AndIOp, Accepts::Integers>},
      {"BitwiseOr", 18, bitwise<arith::OrIOp, Accepts::Integers>},
      {"BitwiseXor", 18, bitwise<arith::XOrIOp, Accepts::Integers>},
      {"BitwiseNot", 18, importBitwiseNot},
      {"BitShift", 11, importBitShift},
      {"Not", 7, importNot, shapes::logicalNot},
      {"IsNaN", 9, importIsNaN},
      {"IsInf", 10, importIsInf},
      {"Where", 9, importWhere, shapes::where},
  };
  return table;
}

} // namespace headrace::onnx
