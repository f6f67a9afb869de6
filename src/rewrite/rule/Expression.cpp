#include "rewrite/rule/Expression.h"

#include <array>

namespace headrace::rewrite {

namespace {

using Binary = Expression::Binary;

std::optional<int64_t> arithmetic(Binary op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
  case Binary::Add:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Binary::Subtract:
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Binary::Multiply:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Binary::Divide: // towards minus infinity, so that a == a / b * b + a % b with a % b >= 0
    return b <= 0 ? std::nullopt : std::optional(a / b - (a % b < 0));
  case Binary::Modulo:
    return b <= 0 ? std::nullopt : std::optional(a % b + (a % b < 0 ? b : 0));
  case Binary::Less:
    return a < b;
  case Binary::LessEqual:
    return a <= b;
  case Binary::Greater:
    return a > b;
  case Binary::GreaterEqual:
    return a >= b;
  default:
    return std::nullopt;
  }
}

std::optional<Attribute> evaluateBinary(const Expression &expression, const Bindings &bindings,
                                        const Facts &facts) {
  std::optional<Attribute> left = evaluate(expression.operands[0], bindings, facts);
  if (!left)
    return {};
  // The second operand of these may have no value if the first decides.
  if (expression.binary == Binary::And || expression.binary == Binary::Or)
    if ((left->value != 0) == (expression.binary == Binary::Or))
      return Attribute::number(left->value != 0);
  std::optional<Attribute> right = evaluate(expression.operands[1], bindings, facts);
  if (!right)
    return {};
  switch (expression.binary) {
  case Binary::Equal:
    return Attribute::number(*left == *right);
  case Binary::Unequal:
    return Attribute::number(*left != *right);
  case Binary::And:
  case Binary::Or:
    return Attribute::number(right->value != 0);
  default:
    break;
  }
  if (!left->isNumber() || !right->isNumber())
    return {};
  std::optional<int64_t> result = arithmetic(expression.binary, left->value, right->value);
  return result ? std::optional(Attribute::number(*result)) : std::nullopt;
}

std::optional<Attribute> evaluateCall(const Expression &expression, const Bindings &bindings,
                                      const Facts &facts) {
  std::array<Facts::Argument, Facts::maxArguments> arguments;
  size_t count = 0;
  for (const Expression &operand : expression.operands) {
    Facts::Argument &argument = arguments.at(count++);
    if (operand.kind == Expression::Kind::Subject) {
      argument.subject = bindings.subjects[operand.slot];
      continue;
    }
    std::optional<Attribute> value = evaluate(operand, bindings, facts);
    if (!value)
      return {};
    argument.value = *value;
  }
  std::optional<int64_t> result =
      facts.call(expression.function, std::span(arguments).first(count));
  return result ? std::optional(Attribute::number(*result)) : std::nullopt;
}

} // namespace

std::optional<Attribute> evaluate(const Expression &expression, const Bindings &bindings,
                                  const Facts &facts) {
  switch (expression.kind) {
  case Expression::Kind::Literal:
    return expression.literal;
  case Expression::Kind::Value:
    return bindings.values[expression.slot];
  case Expression::Kind::Subject:
    return {};
  case Expression::Kind::Call:
    return evaluateCall(expression, bindings, facts);
  case Expression::Kind::Negative:
  case Expression::Kind::Not: {
    std::optional<Attribute> value = evaluate(expression.operands[0], bindings, facts);
    if (!value || !value->isNumber())
      return {};
    if (expression.kind == Expression::Kind::Not)
      return Attribute::number(value->value == 0);
    return value->value == INT64_MIN ? std::nullopt
                                     : std::optional(Attribute::number(-value->value));
  }
  case Expression::Kind::Binary:
    return evaluateBinary(expression, bindings, facts);
  }
  return {};
}

} // namespace headrace::rewrite
