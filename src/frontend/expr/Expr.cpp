#include "frontend/expr/Expr.h"

#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::expr {

/// Deeper trees would exhaust the stack of what walks them.
static constexpr unsigned kDeepest = 1000;

Op Expr::op() const { return node->op; }
DType Expr::dtype() const { return node->dtype; }
const std::vector<Expr> &Expr::operands() const { return node->operands; }

Expr makeNode(Node node) {
  for (const Expr &operand : node.operands)
    node.depth = std::max(node.depth, operand->depth + 1);
  if (node.depth > kDeepest)
    throw Error(ErrorKind::Unsupported, "expression: expected at most " + std::to_string(kDeepest) +
                                            " operators inside one another; use several stages");
  return Expr(std::make_shared<const Node>(std::move(node)));
}

static Node weakLeaf(Op op, DType type) {
  Node node{op, type};
  node.weak = true;
  return node;
}

Expr::Expr(int64_t value) {
  Node leaf = weakLeaf(Op::Number, DType::I64);
  leaf.integer = value;
  *this = makeNode(std::move(leaf));
}

Expr::Expr(double value) {
  Node leaf = weakLeaf(Op::Number, DType::F32);
  leaf.number = value;
  *this = makeNode(std::move(leaf));
}

Expr Expr::condition(bool value) {
  Node leaf{Op::Number, DType::Bool};
  leaf.integer = value;
  return makeNode(std::move(leaf));
}

Expr var(const std::string &name, int64_t least) {
  if (name.empty())
    throw Error(ErrorKind::InvalidArgument, "size: expected a name, got none");
  if (least < 0)
    throw Error(ErrorKind::InvalidArgument,
                "size '" + name + "': expected at least 0 or more, got " + std::to_string(least));
  Node leaf = weakLeaf(Op::Size, DType::I64);
  leaf.size = std::make_shared<const SizeInfo>(SizeInfo{name, least});
  return makeNode(std::move(leaf));
}

bool isFloat(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::F64;
}

bool isInteger(DType type) {
  return type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64;
}

namespace {

struct Kind {
  DType type;
  bool weak;
};

int rankOf(DType type) { return type == DType::Bool ? 0 : isInteger(type) ? 1 : 2; }

Kind promoted(Kind a, Kind b) {
  if (a.weak && !b.weak)
    std::swap(a, b);
  int rankA = rankOf(a.type), rankB = rankOf(b.type);
  if (b.weak && !a.weak) {
    if (rankA >= rankB)
      return a;
    return {rankB == 2 ? DType::F64 : DType::I64, false};
  }
  if (rankA != rankB)
    return {rankA > rankB ? a.type : b.type, a.weak};
  if (a.type == b.type)
    return a;
  if (sizeOf(a.type) == sizeOf(b.type))
    return {DType::F32, a.weak}; // f16 and bf16
  return {sizeOf(a.type) > sizeOf(b.type) ? a.type : b.type, a.weak};
}

Kind kindOf(const Expr &value) { return {value.dtype(), value->weak}; }

/// Where arithmetic happens: not in bools.
Kind counted(Kind kind) { return kind.type == DType::Bool ? Kind{DType::I64, kind.weak} : kind; }

/// Where functions of real numbers happen.
Kind real(Kind kind) {
  if (isFloat(kind.type))
    return kind;
  return {kind.weak ? DType::F32 : DType::F64, kind.weak};
}

/// The operand in a type. A number becomes a number of that type.
Expr converted(const Expr &value, DType type) {
  if (value.dtype() == type)
    return value;
  if (value.op() == Op::Number) {
    Node leaf{Op::Number, type};
    leaf.weak = value->weak;
    if (isFloat(type))
      leaf.number = isFloat(value.dtype()) ? value->number : static_cast<double>(value->integer);
    else
      leaf.integer = value->integer;
    if (!isFloat(type) && type != DType::Bool && sizeOf(type) < 8) {
      int64_t limit = int64_t{1} << (8 * sizeOf(type) - 1);
      if (leaf.integer < -limit || leaf.integer >= limit)
        throw Error(ErrorKind::TypeMismatch, "expression: expected a number of type " +
                                                 std::string(headrace::nameOf(type)) + ", got " +
                                                 std::to_string(leaf.integer));
    }
    return makeNode(std::move(leaf));
  }
  return cast(value, type);
}

[[noreturn]] void failTypes(Op op, const std::vector<Expr> &operands, const char *expected) {
  std::string found;
  for (const Expr &operand : operands)
    found += (found.empty() ? "" : " and ") + std::string(headrace::nameOf(operand.dtype()));
  throw Error(ErrorKind::TypeMismatch, std::string("operator '") + nameOf(op) + "': expected " +
                                           expected + ", got " + found + " in " +
                                           operands.front().text());
}

void requireBools(Op op, const std::vector<Expr> &operands) {
  for (const Expr &operand : operands)
    if (operand.dtype() != DType::Bool)
      failTypes(op, operands, "conditions (bool)");
}

Expr build(Op op, Kind result, std::vector<Expr> operands) {
  Node node{op, result.type};
  node.weak = result.weak;
  node.operands = std::move(operands);
  return makeNode(std::move(node));
}

Expr applyUnary(Op op, const Expr &a) {
  Kind kind = kindOf(a);
  switch (op) {
  case Op::Not:
    requireBools(op, {a});
    return build(op, kind, {a});
  case Op::Neg:
    if (a.op() == Op::Number && kind.weak)
      return isFloat(kind.type) ? Expr(-a->number)
                                : Expr(static_cast<int64_t>(0 - static_cast<uint64_t>(a->integer)));
    [[fallthrough]];
  case Op::Abs:
    kind = counted(kind);
    break;
  case Op::Floor:
  case Op::Ceil:
  case Op::RoundEven:
  case Op::Trunc:
    if (!isFloat(kind.type))
      return converted(a, counted(kind).type);
    break;
  default:
    kind = real(kind);
  }
  return build(op, kind, {converted(a, kind.type)});
}

Expr applyBinary(Op op, const Expr &a, const Expr &b) {
  Kind kind = promoted(kindOf(a), kindOf(b));
  bool compares = op >= Op::Less && op <= Op::NotEqual;
  if (op == Op::And || op == Op::Or)
    requireBools(op, {a, b});
  else if (op == Op::Div)
    kind = real(kind);
  else if (op != Op::Min && op != Op::Max && !compares)
    kind = counted(kind);
  std::vector<Expr> operands{converted(a, kind.type), converted(b, kind.type)};
  return build(op, compares ? Kind{DType::Bool, false} : kind, std::move(operands));
}

} // namespace

Expr cast(const Expr &value, DType type) {
  if (type != DType::Bool && !isFloat(type) && !isInteger(type))
    throw Error(ErrorKind::Unsupported, "expression: expected one of bool, i8, i16, i32, i64, f16, "
                                        "bf16, f32, f64, got " +
                                            std::string(headrace::nameOf(type)));
  if (value.dtype() == type && !value->weak)
    return value;
  return build(Op::Cast, {type, false}, {value});
}

Expr apply(Op op, std::vector<Expr> operands) {
  size_t expected = op == Op::Select ? 3 : op >= Op::Add && op <= Op::Or ? 2 : 1;
  if (operands.size() != expected || op < Op::Neg || op == Op::Cast || op > Op::Select)
    throw InternalError("an operator of expressions is applied to the wrong operands");
  if (expected == 1)
    return applyUnary(op, operands[0]);
  if (expected == 2)
    return applyBinary(op, operands[0], operands[1]);
  requireBools(op, {operands[0]});
  Kind kind = promoted(kindOf(operands[1]), kindOf(operands[2]));
  return build(op, kind,
               {operands[0], converted(operands[1], kind.type), converted(operands[2], kind.type)});
}

static Expr joined(Op op, const std::vector<Expr> &conditions) {
  requireBools(op, conditions);
  if (conditions.empty())
    return Expr(op == Op::And);
  Expr result = conditions.front();
  for (size_t i = 1; i < conditions.size(); ++i)
    result = apply(op, {result, conditions[i]});
  return result;
}

Expr all(const std::vector<Expr> &conditions) { return joined(Op::And, conditions); }
Expr any(const std::vector<Expr> &conditions) { return joined(Op::Or, conditions); }

} // namespace headrace::expr
