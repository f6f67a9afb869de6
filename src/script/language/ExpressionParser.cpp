#include "script/language/Operators.h"
#include "script/language/ParserBase.h"

namespace headrace::script {

constexpr int kMaximumNesting = 256;
constexpr int kMaximumHeight = 1000;

bool TokenStream::bracketStartsStatement() const {
  if (position == 0 || source.line(tokens[position - 1].offset) == source.line(peek().offset))
    return false;
  int open = 0;
  for (size_t ahead = 0; peek(ahead).kind != TokenKind::End; ++ahead) {
    open += peek(ahead).is("[");
    open -= peek(ahead).is("]");
    if (open == 0)
      return peek(ahead + 1).is("=") || peek(ahead + 1).is("<-");
  }
  return false;
}

ExpressionParser::Tree ExpressionParser::bounded(ExprPtr expr, int height) const {
  if (height > kMaximumHeight)
    fail(expr->place,
         "expression with more than " + std::to_string(kMaximumHeight) + " operators in a chain");
  return {std::move(expr), height};
}

/// Precedence climbing: takes operators that bind at least as tightly as `minimum`.
ExpressionParser::Tree ExpressionParser::binary(int minimum) {
  Nesting nesting(depth, kMaximumNesting, tokens.place(), "expression");
  Tree left = prefix();
  while (tokens.peek().kind == TokenKind::Symbol) {
    const BinaryOperator *found = binaryOperator(tokens.peek().text);
    if (!found || found->precedence < minimum)
      break;
    SourceLocation place = tokens.placeOf(tokens.take());
    Tree right = binary(found->rightToLeft ? found->precedence : found->precedence + 1);
    int height = std::max(left.height, right.height) + 1;
    left = bounded(makeExpr(place, Binary{found->op, std::move(left.expr), std::move(right.expr)}),
                   height);
  }
  return left;
}

ExpressionParser::Tree ExpressionParser::prefix() {
  const UnaryOperator *found =
      tokens.peek().kind == TokenKind::Symbol ? unaryOperator(tokens.peek().text) : nullptr;
  if (!found)
    return primary();
  SourceLocation place = tokens.placeOf(tokens.take());
  Tree operand = binary(found->precedence);
  return bounded(makeExpr(place, Unary{found->op, std::move(operand.expr)}), operand.height + 1);
}

ExpressionParser::Tree ExpressionParser::primary() {
  SourceLocation place = tokens.place();
  const Token &next = tokens.peek();
  switch (next.kind) {
  case TokenKind::Identifier:
    return word(tokens.take());
  case TokenKind::Integer:
    return {makeExpr(place, Literal{std::get<int64_t>(tokens.take().number)})};
  case TokenKind::Double:
    return {makeExpr(place, Literal{std::get<double>(tokens.take().number)})};
  case TokenKind::String:
    return {makeExpr(place, Literal{tokens.take().text})};
  case TokenKind::Parameter:
    return {makeExpr(place, Parameter{tokens.take().text})};
  default:
    break;
  }
  if (next.is("TRUE") || next.is("FALSE"))
    return {makeExpr(place, Literal{tokens.take().text == "TRUE"})};
  if (tokens.accept("ifdef"))
    return ifDefined(place);
  if (tokens.accept("["))
    return tuple(place);
  if (!tokens.accept("("))
    tokens.failHere("expected an expression");
  Tree inner = binary(0);
  tokens.expect(")", "to close the parenthesis at " + place.text());
  return inner;
}

/// `name`, `name[...]` or `name(...)`
ExpressionParser::Tree ExpressionParser::word(const Token &name) {
  SourceLocation place = tokens.placeOf(name);
  if (tokens.accept("(")) {
    size_t separator = name.text.find("::");
    bool spaced = separator != std::string::npos;
    Call call;
    call.space = spaced ? name.text.substr(0, separator) : "";
    call.name = spaced ? name.text.substr(separator + 2) : name.text;
    call.arguments = arguments();
    return {makeExpr(place, std::move(call))};
  }
  if (name.text.find("::") != std::string::npos)
    tokens.failHere("expected '(' after '" + name.text + "': only functions have a namespace");
  if (tokens.peek().is("[") && !tokens.bracketStartsStatement()) {
    tokens.take();
    return {makeExpr(place, Index{name.text, ranges()})};
  }
  return {makeExpr(place, Variable{name.text})};
}

ExpressionParser::Tree ExpressionParser::ifDefined(SourceLocation place) {
  tokens.expect("(", "after ifdef");
  std::string name = tokens.expect(TokenKind::Parameter, "a parameter such as $name in ifdef").text;
  tokens.expect(",", "after the parameter of ifdef");
  ExprPtr otherwise = binary(0).expr;
  tokens.expect(")", "after the default of ifdef");
  return {makeExpr(place, IfDefined{std::move(name), std::move(otherwise)})};
}

ExpressionParser::Tree ExpressionParser::tuple(SourceLocation place) {
  Tuple tuple;
  do
    tuple.elements.push_back(binary(0).expr);
  while (tokens.accept(","));
  tokens.expect("]", "after the values in brackets");
  return {makeExpr(place, std::move(tuple))};
}

std::vector<Argument> ExpressionParser::arguments() {
  std::vector<Argument> arguments;
  if (tokens.accept(")"))
    return arguments;
  do {
    Argument argument;
    argument.place = tokens.place();
    if (tokens.peek().kind == TokenKind::Identifier && tokens.peek(1).is("=")) {
      argument.name = tokens.take().text;
      tokens.take();
    }
    argument.value = binary(0).expr;
    arguments.push_back(std::move(argument));
    while (tokens.accept(";")) // the language allows it after a call, even here
      ;
  } while (tokens.accept(","));
  tokens.expect(")", "after the arguments");
  return arguments;
}

IndexRanges ExpressionParser::ranges() {
  IndexRanges ranges;
  auto dimension = [&](IndexRange &range) {
    if (tokens.peek().is(",") || tokens.peek().is("]"))
      return;
    range.first = binary(0).expr;
    if (tokens.accept(":"))
      range.last = binary(0).expr;
  };
  dimension(ranges.rows);
  ranges.twoDimensional = tokens.accept(",");
  if (ranges.twoDimensional)
    dimension(ranges.columns);
  tokens.expect("]", "after the index");
  return ranges;
}

} // namespace headrace::script
