#include "rewrite/rule/PatternParser.h"

#include "runtime/system/Text.h"

#include <algorithm>
#include <array>

namespace headrace::rewrite {

namespace {

/// Deeper than any rule, and far from the end of the stack.
constexpr int deepest = 200;

class Nested {
public:
  Nested(int &depth, const TokenStream &tokens) : depth(depth) {
    if (++depth > deepest)
      tokens.failHere("expected at most " + std::to_string(deepest) + " levels of nesting");
  }
  ~Nested() { --depth; }

private:
  int &depth;
};

struct Infix {
  std::string_view text;
  Expression::Binary binary;
  int strength;
};

using Binary = Expression::Binary;
constexpr std::array<Infix, 13> infixes = {{{"or", Binary::Or, 1},
                                            {"and", Binary::And, 2},
                                            {"==", Binary::Equal, 3},
                                            {"!=", Binary::Unequal, 3},
                                            {"<", Binary::Less, 3},
                                            {"<=", Binary::LessEqual, 3},
                                            {">", Binary::Greater, 3},
                                            {">=", Binary::GreaterEqual, 3},
                                            {"+", Binary::Add, 4},
                                            {"-", Binary::Subtract, 4},
                                            {"*", Binary::Multiply, 5},
                                            {"/", Binary::Divide, 5},
                                            {"%", Binary::Modulo, 5}}};
/// `not` takes comparisons: not (a == b).
constexpr int notStrength = 2;

std::optional<uint32_t> indexIn(const std::vector<std::string> &names, std::string_view name) {
  auto found = std::ranges::find(names, name);
  if (found == names.end())
    return {};
  return static_cast<uint32_t>(found - names.begin());
}

std::string counted(size_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Language::Kind kindOf(const Expression &expression) {
  switch (expression.kind) {
  case Expression::Kind::Subject:
    return Language::Kind::Subject;
  case Expression::Kind::Literal:
    return expression.literal.isNumber() ? Language::Kind::Number : Language::Kind::Name;
  default:
    return Language::Kind::Number;
  }
}

std::string nameOf(Language::Kind kind) {
  switch (kind) {
  case Language::Kind::Number:
    return "a number";
  case Language::Kind::Name:
    return "a name";
  case Language::Kind::Subject:
    return "a variable that is a term";
  }
  return {};
}

// A variable's value is known when the rule is applied, whatever it is then.
void checkKind(const Expression &expression, Language::Kind expected, const std::string &what) {
  if (expression.kind != Expression::Kind::Value && kindOf(expression) != expected)
    fail(expression.place,
         what + ": expected " + nameOf(expected) + ", got " + nameOf(kindOf(expression)));
}

} // namespace

uint32_t PatternParser::slotOf(std::vector<std::string> &names, const Token &variable, Side side,
                               const std::vector<std::string> &others, const char *what) {
  std::string shown = escaped("?" + std::string(variable.text));
  if (indexIn(others, variable.text))
    fail(tokens.placeOf(variable), shown + " stands for " + what + " elsewhere in this rule");
  if (auto slot = indexIn(names, variable.text))
    return *slot;
  if (side == Side::Right)
    fail(tokens.placeOf(variable), shown + " is neither on the left-hand side nor defined");
  names.emplace_back(variable.text);
  return static_cast<uint32_t>(names.size() - 1);
}

uint32_t PatternParser::newValue(const Token &variable) {
  if (indexIn(values, variable.text) || indexIn(subjects, variable.text))
    fail(tokens.placeOf(variable),
         escaped("?" + std::string(variable.text)) + " has a value already; '==' compares");
  values.emplace_back(variable.text);
  return static_cast<uint32_t>(values.size() - 1);
}

Pattern PatternParser::pattern(Side side) {
  Nested nested(depth, tokens);
  Pattern result;
  result.place = tokens.place();
  if (tokens.peek().kind == TokenKind::Variable) {
    result.isVariable = true;
    result.slot = slotOf(subjects, tokens.take(), side, values, "an attribute");
    return result;
  }
  Token name = tokens.expect(TokenKind::Identifier, "a term");
  result.name = vocabulary.name(name.text);
  if (tokens.takeIf("[") && !tokens.takeIf("]")) {
    do
      result.attributes.push_back(side == Side::Left ? leftAttribute() : expression());
    while (tokens.takeIf(","));
    tokens.expect("]");
  }
  if (tokens.takeIf("(") && !tokens.takeIf(")")) {
    do
      result.operands.push_back(pattern(side));
    while (tokens.takeIf(","));
    tokens.expect(")");
  }
  checkOperator(result, name);
  return result;
}

void PatternParser::checkOperator(const Pattern &pattern, const Token &name) const {
  if (!language)
    return;
  std::string shown = inQuotes(name.text);
  auto signature = language->operatorNamed(name.text);
  if (!signature)
    fail(pattern.place, "there is no operator " + shown);
  size_t least = signature->attributes.size(), found = pattern.attributes.size();
  if (found < least || (found > least && !signature->moreNumbers))
    fail(pattern.place, shown + ": expected " + counted(least, "attribute") +
                            (signature->moreNumbers ? " or more" : "") + ", got " +
                            std::to_string(found));
  if (pattern.operands.size() != signature->operands)
    fail(pattern.place, shown + ": expected " + counted(signature->operands, "operand") + ", got " +
                            std::to_string(pattern.operands.size()));
  for (size_t i = 0; i < found; ++i)
    checkKind(pattern.attributes[i], i < least ? signature->attributes[i] : Language::Kind::Number,
              "attribute " + std::to_string(i + 1) + " of " + shown);
}

Expression PatternParser::leftAttribute() {
  Expression result;
  result.place = tokens.place();
  if (tokens.peek().kind == TokenKind::Variable) {
    result.kind = Expression::Kind::Value;
    result.slot = slotOf(values, tokens.take(), Side::Left, subjects, "a term");
    return result;
  }
  if (tokens.peek().kind == TokenKind::Identifier)
    return nameLiteral(tokens.take());
  bool negative = tokens.takeIf("-");
  Token number = tokens.expect(TokenKind::Number, "a number, a name or a variable");
  result.literal = Attribute::number(negative ? -number.number : number.number);
  if (!tokens.peek().is(",") && !tokens.peek().is("]"))
    tokens.failHere("expected ',' or ']': attributes on the left-hand side cannot be expressions");
  return result;
}

Expression PatternParser::nameLiteral(const Token &name) {
  if (language && !language->hasName(name.text))
    fail(tokens.placeOf(name), "there is no function " + inQuotes(name.text));
  Expression result;
  result.place = tokens.placeOf(name);
  result.literal = Attribute::name(vocabulary.name(name.text));
  return result;
}

Clause PatternParser::clause() {
  Clause result;
  if (tokens.peek().kind == TokenKind::Variable) {
    TokenStream ahead = tokens;
    Token variable = ahead.take();
    if (ahead.takeIf("=")) {
      tokens = ahead;
      result.expression = expression(); // first, so that it cannot refer to its own variable
      result.defines = newValue(variable);
      return result;
    }
  }
  result.expression = expression();
  return result;
}

Expression PatternParser::expression(int strength) {
  Nested nested(depth, tokens);
  Expression left = operand();
  while (true) {
    auto infix = std::ranges::find_if(
        infixes, [&](const Infix &infix) { return tokens.peek().is(infix.text); });
    if (infix == infixes.end() || infix->strength <= strength)
      return left;
    Expression whole;
    whole.place = tokens.place();
    tokens.take();
    whole.kind = Expression::Kind::Binary;
    whole.binary = infix->binary;
    Expression right = expression(infix->strength);
    for (const Expression *side : {&left, &right})
      if (side->kind == Expression::Kind::Subject)
        fail(side->place, "expected a number, got a variable that is a term");
    whole.operands = {std::move(left), std::move(right)};
    left = std::move(whole);
  }
}

Expression PatternParser::operand() {
  Nested nested(depth, tokens);
  Expression result;
  result.place = tokens.place();
  if (tokens.takeIf("(")) {
    result = expression();
    tokens.expect(")");
    return result;
  }
  if (tokens.peek().is("-") || tokens.peek().is("not")) {
    bool negative = tokens.take().text == "-";
    result.kind = negative ? Expression::Kind::Negative : Expression::Kind::Not;
    result.operands.push_back(negative ? operand() : expression(notStrength));
    return result;
  }
  Token token = tokens.take();
  switch (token.kind) {
  case TokenKind::Number:
    result.literal = Attribute::number(token.number);
    return result;
  case TokenKind::Variable:
    if (auto slot = indexIn(subjects, token.text)) {
      result.kind = Expression::Kind::Subject;
      result.slot = *slot;
      return result;
    }
    result.kind = Expression::Kind::Value;
    result.slot = slotOf(values, token, Side::Right, subjects, "a term");
    return result;
  case TokenKind::Identifier:
    return tokens.peek().is("(") ? call(token) : nameLiteral(token);
  default:
    fail(result.place, "expected a number, a variable or a function, got " + nameOf(token));
  }
}

Expression PatternParser::call(const Token &name) {
  Expression result;
  result.kind = Expression::Kind::Call;
  result.place = tokens.placeOf(name);
  result.function = vocabulary.name(name.text);
  tokens.expect("(");
  if (!tokens.takeIf(")")) {
    do
      result.operands.push_back(expression());
    while (tokens.takeIf(","));
    tokens.expect(")");
  }
  checkCall(result, name);
  return result;
}

void PatternParser::checkCall(const Expression &call, const Token &name) const {
  std::string shown = inQuotes(name.text);
  if (call.operands.size() > Facts::maxArguments)
    fail(call.place, shown + ": expected at most " + std::to_string(Facts::maxArguments) +
                         " arguments, got " + std::to_string(call.operands.size()));
  if (!language)
    return;
  auto signature = language->functionNamed(name.text);
  if (!signature)
    fail(call.place, "there is no function " + shown + " of sizes");
  if (call.operands.size() != signature->size())
    fail(call.place, shown + ": expected " + counted(signature->size(), "argument") + ", got " +
                         std::to_string(call.operands.size()));
  for (size_t i = 0; i < signature->size(); ++i)
    checkKind(call.operands[i], (*signature)[i],
              "argument " + std::to_string(i + 1) + " of " + shown);
}

} // namespace headrace::rewrite
