#include "frontend/expr/ScalarWriter.h"

#include "dialect/Hr.h"
#include "dialect/scalar/Formulas.h"
#include "runtime/system/Error.h"

using namespace mlir;

namespace headrace::expr {

Value ScalarWriter::write(const Expr &expr) {
  if (auto known = written.find(expr.get()); known != written.end())
    return known->second;
  Value value = create(expr);
  written[expr.get()] = value;
  return value;
}

Value ScalarWriter::writeIndex(const Expr &expr) { return asIndex(write(expr)); }

Value ScalarWriter::asIndex(Value integer) {
  return math.op<arith::IndexCastOp>(builder.getIndexType(),
                                     math.convert(integer, builder.getI64Type()));
}

Value ScalarWriter::create(const Expr &expr) {
  const std::vector<Expr> &operands = expr.operands();
  switch (expr.op()) {
  case Op::Number:
    return number(expr);
  case Op::Size:
    return size(expr);
  case Op::Position:
    return position(expr);
  case Op::Read:
    return read(*this, expr);
  case Op::Cast:
    return math.convert(write(operands[0]), toElementType(expr.dtype(), builder.getContext()));
  case Op::Select: {
    Value condition = write(operands[0]), yes = write(operands[1]), no = write(operands[2]);
    return math.select(condition, yes, no);
  }
  case Op::Argument:
  case Op::Reduce:
    throw InternalError("an expression has " + expr.text() + " in a place where it is not allowed");
  default:
    break;
  }
  Value first = write(operands[0]);
  return operands.size() == 1 ? unary(expr, first) : binary(expr, first, write(operands[1]));
}

Value ScalarWriter::number(const Expr &expr) {
  Type type = toElementType(expr.dtype(), builder.getContext());
  if (isFloat(expr.dtype()))
    return math.op<arith::ConstantOp>(builder.getFloatAttr(type, expr->number));
  return math.op<arith::ConstantOp>(builder.getIntegerAttr(type, expr->integer));
}

Value ScalarWriter::asInteger(Value index) {
  return math.op<arith::IndexCastOp>(builder.getI64Type(), index);
}

Value ScalarWriter::size(const Expr &expr) {
  AffineExpr size = sizes->convert(expr);
  return asInteger(math.op<hr::SizeOp>(symbolMap({size}, builder.getContext())));
}

Value ScalarWriter::position(const Expr &expr) {
  unsigned dim = *domain->find(expr->axis.get());
  Value index = asInteger(math.op<hr::IndexOp>(static_cast<int64_t>(dim)));
  if (constantValue(domain->getLow(dim)) == 0)
    return index;
  return math.add(index, write(expr->axis->low));
}

Value ScalarWriter::unary(const Expr &expr, Value a) {
  switch (expr.op()) {
  case Op::Neg:
    return math.neg(a);
  case Op::Abs:
    return math.abs(a);
  case Op::Not:
    return math.op<arith::XOrIOp>(a, math.op<arith::ConstantOp>(builder.getBoolAttr(true)));
  default:
    return function(expr.op(), a);
  }
}

Value ScalarWriter::function(Op op, Value a) {
  switch (op) {
#define HEADRACE_FUNCTION(Id, name, value, Operation, ...)                                         \
  case Op::Id:                                                                                     \
    return math.op<Operation>(a);
#include "runtime/scalar/Functions.def"
  default:
    throw InternalError(std::string("no scalar function is called ") + nameOf(op));
  }
}

Value ScalarWriter::binary(const Expr &expr, Value a, Value b) {
  using Compare = ScalarMath::Compare;
  bool isBool = a.getType().isInteger(1);
  switch (expr.op()) {
  case Op::Add:
    return math.add(a, b);
  case Op::Sub:
    return math.sub(a, b);
  case Op::Mul:
    return math.mul(a, b);
  case Op::Div:
    return math.div(a, b);
  case Op::FloorDiv:
    return formulas::floorDivide(math, a, b);
  case Op::Mod:
    return formulas::modulo(math, a, b);
  case Op::Pow:
    return power(expr, a, b);
  case Op::Min:
    return isBool ? math.op<arith::AndIOp>(a, b) : math.min(a, b);
  case Op::Max:
    return isBool ? math.op<arith::OrIOp>(a, b) : math.max(a, b);
  case Op::Less:
    return math.compare(Compare::Less, a, b);
  case Op::LessEqual:
    return math.compare(Compare::LessOrEqual, a, b);
  case Op::Greater:
    return math.compare(Compare::Greater, a, b);
  case Op::GreaterEqual:
    return math.compare(Compare::GreaterOrEqual, a, b);
  case Op::Equal:
    return math.compare(Compare::Equal, a, b);
  case Op::NotEqual:
    return math.compare(Compare::NotEqual, a, b);
  case Op::And:
    return math.op<arith::AndIOp>(a, b);
  case Op::Or:
    return math.op<arith::OrIOp>(a, b);
  default:
    throw InternalError(std::string("no scalar function is called ") + nameOf(expr.op()));
  }
}

/// Small whole powers are products, which is exact and cheap.
Value ScalarWriter::power(const Expr &expr, Value a, Value b) {
  const Expr &exponent = expr.operands()[1];
  if (isFloat(expr.dtype()) && exponent.op() == Op::Number &&
      (exponent->number == 2 || exponent->number == 3)) {
    Value square = math.mul(a, a);
    return exponent->number == 2 ? square : math.mul(square, a);
  }
  return formulas::power(math, a, b);
}

} // namespace headrace::expr
