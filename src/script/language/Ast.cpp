#include "script/language/Ast.h"

namespace headrace::script {

static std::string valueText(ValueType type) {
  switch (type) {
  case ValueType::Unknown:
    return "Unknown";
  case ValueType::Double:
    return "Double";
  case ValueType::Integer:
    return "Integer";
  case ValueType::Boolean:
    return "Boolean";
  case ValueType::String:
    return "String";
  }
  throw InternalError("value type without a name");
}

std::string toText(Type type) {
  std::string value = valueText(type.value);
  switch (type.data) {
  case DataType::Unknown:
  case DataType::Scalar:
    return value;
  case DataType::Matrix:
    return "Matrix[" + value + "]";
  case DataType::Frame:
    return "Frame[" + value + "]";
  case DataType::List:
    return "List[" + value + "]";
  case DataType::Tensor:
    return "Tensor[" + value + "]";
  }
  throw InternalError("data type without a name");
}

static ExprPtr cloned(const ExprPtr &expr) { return expr ? clone(*expr) : nullptr; }

IndexRanges clone(const IndexRanges &ranges) {
  return {{cloned(ranges.rows.first), cloned(ranges.rows.last)},
          {cloned(ranges.columns.first), cloned(ranges.columns.last)},
          ranges.twoDimensional};
}

namespace {

struct Cloner {
  Expr::Node operator()(const Literal &node) const { return node; }
  Expr::Node operator()(const Variable &node) const { return node; }
  Expr::Node operator()(const Parameter &node) const { return node; }
  Expr::Node operator()(const IfDefined &node) const {
    return IfDefined{node.name, clone(*node.otherwise)};
  }
  Expr::Node operator()(const Unary &node) const { return Unary{node.op, clone(*node.operand)}; }
  Expr::Node operator()(const Binary &node) const {
    return Binary{node.op, clone(*node.left), clone(*node.right)};
  }
  Expr::Node operator()(const Call &node) const {
    Call call{node.space, node.name, {}, node.builtin};
    for (const Argument &argument : node.arguments)
      call.arguments.push_back({argument.name, cloned(argument.value), argument.place});
    return call;
  }
  Expr::Node operator()(const Index &node) const { return Index{node.name, clone(node.ranges)}; }
  Expr::Node operator()(const Tuple &node) const {
    Tuple tuple;
    for (const ExprPtr &element : node.elements)
      tuple.elements.push_back(clone(*element));
    return tuple;
  }
};

} // namespace

ExprPtr clone(const Expr &expr) {
  auto copy = makeExpr(expr.place, std::visit(Cloner{}, expr.node));
  copy->type = expr.type;
  return copy;
}

} // namespace headrace::script
