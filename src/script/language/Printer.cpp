#include "script/language/Printer.h"

#include "script/language/Operators.h"
#include <charconv>
#include <cmath>

namespace headrace::script {

std::string print(const LiteralValue &value) {
  if (auto *integer = std::get_if<int64_t>(&value))
    return std::to_string(*integer);
  if (auto *boolean = std::get_if<bool>(&value))
    return *boolean ? "TRUE" : "FALSE";
  if (auto *number = std::get_if<double>(&value)) {
    if (std::isnan(*number))
      return "NaN";
    if (std::isinf(*number))
      return *number < 0 ? "-Inf" : "Inf";
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, *number).ptr;
    std::string text(buffer, end);
    // 2.0 is not the integer 2.
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  std::string text = "\"";
  for (char c : std::get<std::string>(value)) {
    constexpr std::string_view special = "\b\t\n\f\r\"\\";
    constexpr std::string_view names = "btnfr\"\\";
    size_t which = special.find(c);
    text += which == std::string_view::npos ? std::string(1, c) : std::string{'\\', names[which]};
  }
  return text + "\"";
}

namespace {

/// Tighter than any operator.
constexpr int kAtom = 100;

class Printer {
public:
  explicit Printer(Parentheses style) : full(style == Parentheses::Full) {}

  std::string text(const Expr &expr, int minimum = 0) const {
    std::string inner = std::visit([&](const auto &node) { return write(node); }, expr.node);
    int precedence = kAtom;
    if (auto *binary = expr.as<Binary>())
      precedence = describe(binary->op).precedence;
    else if (auto *unary = expr.as<Unary>())
      precedence = describe(unary->op).precedence;
    bool parentheses = full ? precedence != kAtom : precedence < minimum;
    return parentheses ? "(" + inner + ")" : inner;
  }

  std::string ranges(const IndexRanges &ranges) const {
    std::string result = "[" + dimension(ranges.rows);
    if (ranges.twoDimensional)
      result += ", " + dimension(ranges.columns);
    return result + "]";
  }

  std::string arguments(const std::vector<Argument> &arguments) const {
    std::string result;
    for (const Argument &argument : arguments) {
      if (!argument.value)
        continue;
      result += result.empty() ? "" : ", ";
      result += (argument.name.empty() ? "" : argument.name + " = ") + text(*argument.value);
    }
    return result;
  }

  std::string statement(const Statement &statement, int level) const {
    return std::visit([&](const auto &node) { return write(node, level); }, statement.node);
  }

  std::string block(const StatementList &statements, int level) const {
    std::string result = "{\n";
    for (const StatementPtr &inner : statements)
      result += statement(*inner, level + 1);
    return result + indent(level) + "}";
  }

  std::string function(const FunctionDefinition &function) const {
    std::string result =
        function.name + " = " + (function.external ? "externalFunction(" : "function(") +
        typedNames(function.inputs) + ") return (" + typedNames(function.outputs) + ")";
    if (!function.external)
      return result + " " + block(function.body, 0) + "\n";
    std::string entries;
    for (const auto &[name, value] : function.implementation)
      entries += (entries.empty() ? "" : ", ") + name + " = " + print(LiteralValue(value));
    return result + " implemented in (" + entries + ")\n";
  }

private:
  static std::string indent(int level) { return std::string(2 * static_cast<size_t>(level), ' '); }

  std::string dimension(const IndexRange &range) const {
    if (range.all())
      return "";
    return text(*range.first) + (range.last ? ":" + text(*range.last) : "");
  }

  std::string typedNames(const std::vector<TypedName> &names) const {
    std::string result;
    for (const TypedName &entry : names) {
      result += (result.empty() ? "" : ", ") + toText(entry.type) + " " + entry.name;
      if (entry.defaultValue)
        result += " = " + text(*entry.defaultValue);
    }
    return result;
  }

  // --- Expressions ---------------------------------------------------------------------------

  std::string write(const Literal &node) const { return print(node.value); }
  std::string write(const Variable &node) const { return node.name; }
  std::string write(const Parameter &node) const { return "$" + node.name; }
  std::string write(const IfDefined &node) const {
    return "ifdef($" + node.name + ", " + text(*node.otherwise) + ")";
  }
  std::string write(const Unary &node) const {
    const UnaryOperator &op = describe(node.op);
    return std::string(op.symbol) + text(*node.operand, op.precedence);
  }
  std::string write(const Binary &node) const {
    const BinaryOperator &op = describe(node.op);
    return text(*node.left, op.precedence + op.rightToLeft) + " " + std::string(op.symbol) + " " +
           text(*node.right, op.precedence + !op.rightToLeft);
  }
  std::string write(const Call &node) const {
    return node.fullName() + "(" + arguments(node.arguments) + ")";
  }
  std::string write(const Index &node) const { return node.name + ranges(node.ranges); }
  std::string write(const Tuple &node) const {
    std::string result;
    for (const ExprPtr &element : node.elements)
      result += (result.empty() ? "" : ", ") + text(*element);
    return "[" + result + "]";
  }

  // --- Statements ----------------------------------------------------------------------------

  std::string write(const Assign &node, int level) const {
    std::string targets;
    for (const Target &target : node.targets)
      targets += (targets.empty() ? "" : ", ") + target.name +
                 (target.ranges ? ranges(*target.ranges) : "");
    if (node.targets.size() > 1)
      targets = "[" + targets + "]";
    if (!node.targets.empty())
      targets += node.accumulate ? " += " : " = ";
    return indent(level) + targets + text(*node.value) + "\n";
  }
  std::string write(const If &node, int level) const {
    std::string result =
        indent(level) + "if (" + text(*node.condition) + ") " + block(node.then, level);
    if (!node.otherwise.empty())
      result += " else " + block(node.otherwise, level);
    return result + "\n";
  }
  std::string write(const While &node, int level) const {
    return indent(level) + "while (" + text(*node.condition) + ") " + block(node.body, level) +
           "\n";
  }
  std::string write(const For &node, int level) const {
    std::string range = node.step ? "seq(" + text(*node.from) + ", " + text(*node.to) + ", " +
                                        text(*node.step) + ")"
                                  : text(*node.from) + ":" + text(*node.to);
    std::string options = node.options.empty() ? "" : ", " + arguments(node.options);
    return indent(level) + (node.parallel ? "parfor (" : "for (") + node.variable + " in " + range +
           options + ") " + block(node.body, level) + "\n";
  }
  std::string write(const Import &node, int level) const {
    return indent(level) + "source(" + print(LiteralValue(node.path)) + ") as " + node.space + "\n";
  }
  std::string write(const SetFolder &node, int level) const {
    return indent(level) + "setwd(" + print(LiteralValue(node.path)) + ")\n";
  }

  bool full;
};

} // namespace

std::string print(const Expr &expr, Parentheses style) { return Printer(style).text(expr); }

std::string print(const Statement &statement, Parentheses style) {
  return Printer(style).statement(statement, 0);
}

std::string print(const FunctionDefinition &function, Parentheses style) {
  return Printer(style).function(function);
}

std::string print(const Script &script, Parentheses style) {
  std::string result;
  for (const FunctionDefinition &function : script.functions)
    result += print(function, style);
  for (const StatementPtr &statement : script.statements)
    result += print(*statement, style);
  return result;
}

} // namespace headrace::script
