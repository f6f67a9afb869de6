#include "script/language/Arguments.h"
#include "script/language/Lowering.h"
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace headrace::script {

constexpr int kMaximumDefaultDepth = 50;

/// The type that a parameter's text has: "12", "0.5", "TRUE"; a string otherwise.
static LiteralValue literalOf(const std::string &text) {
  if (text == "TRUE" || text == "true")
    return true;
  if (text == "FALSE" || text == "false")
    return false;
  bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                text.front() == text.back();
  if (quoted)
    return text.substr(1, text.size() - 2);
  const char *begin = text.data() + (text.starts_with('+') && text.size() > 1);
  const char *end = text.data() + text.size();
  int64_t integer = 0;
  if (auto read = std::from_chars(begin, end, integer); read.ec == std::errc() && read.ptr == end)
    return integer;
  double number = 0;
  // Words such as "inf" are names, not numbers.
  bool digits = text.find_first_of("0123456789") != std::string::npos;
  if (auto read = std::from_chars(begin, end, number);
      digits && read.ec == std::errc() && read.ptr == end)
    return number;
  return text;
}

static std::optional<double> constantNamed(const std::string &name) {
  if (name == "pi")
    return std::numbers::pi;
  if (name == "Inf")
    return std::numeric_limits<double>::infinity();
  if (name == "NaN")
    return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// --- Resolving -------------------------------------------------------------------------------

FunctionLowering::Callee FunctionLowering::resolve(SourceLocation place, const Call &call) {
  Module *from = module;
  if (!call.space.empty()) {
    auto found = module->imports.find(call.space);
    if (found == module->imports.end())
      fail(place, "unknown namespace '" + call.space + "': expected source(\"...\") as " +
                      call.space + " in this script");
    from = found->second;
  }
  Callee callee;
  if (auto found = from->functions.find(call.name); found != from->functions.end()) {
    callee = {nullptr, from, found->second};
  } else if (call.space.empty()) {
    callee.builtin = findBuiltin(call.name);
    if (!callee.builtin)
      std::tie(callee.module, callee.definition) = shared.loader.autoload(call.name);
  }
  if (!callee.builtin && !callee.definition)
    fail(place, "unknown function '" + call.fullName() + "'");
  if (callee.definition && callee.definition->external)
    failNotExecuted(place, "externalFunction " + call.fullName());
  return callee;
}

// --- Expressions -----------------------------------------------------------------------------

ExprPtr FunctionLowering::expression(const Expr &expr) {
  SourceLocation place = expr.place;
  if (auto *variable = expr.as<Variable>()) {
    if (!variables.contains(variable->name))
      if (auto value = constantNamed(variable->name))
        return makeExpr(place, Literal{*value});
  } else if (auto *given = expr.as<Parameter>()) {
    if (ExprPtr value = parameter(place, given->name))
      return value;
    fail(place, "parameter $" + given->name + " is not given and has no default",
         ErrorKind::MissingInput);
  } else if (auto *defined = expr.as<IfDefined>()) {
    ExprPtr value = parameter(place, defined->name);
    return value ? std::move(value) : expression(*defined->otherwise);
  } else if (auto *unary = expr.as<Unary>()) {
    return makeExpr(place, Unary{unary->op, expression(*unary->operand)});
  } else if (auto *binary = expr.as<Binary>()) {
    ExprPtr left = expression(*binary->left);
    return makeExpr(place, Binary{binary->op, std::move(left), expression(*binary->right)});
  } else if (auto *called = expr.as<Call>()) {
    return call(expr, *called);
  } else if (auto *index = expr.as<Index>()) {
    return makeExpr(place, Index{index->name, ranges(index->ranges)});
  } else if (auto *tuple = expr.as<Tuple>()) {
    Tuple lowered;
    for (const ExprPtr &element : tuple->elements)
      lowered.elements.push_back(expression(*element));
    return makeExpr(place, std::move(lowered));
  }
  return clone(expr);
}

/// The literal instead of `$name`; null if it was not given.
ExprPtr FunctionLowering::parameter(SourceLocation place, const std::string &name) {
  auto found = shared.options.parameters.find(name);
  if (found == shared.options.parameters.end())
    return nullptr;
  return makeExpr(place, Literal{literalOf(found->second)});
}

IndexRanges FunctionLowering::ranges(const IndexRanges &ranges) {
  auto lowered = [&](const ExprPtr &part) { return part ? expression(*part) : nullptr; };
  IndexRanges result;
  result.rows.first = lowered(ranges.rows.first);
  result.rows.last = lowered(ranges.rows.last);
  result.columns.first = lowered(ranges.columns.first);
  result.columns.last = lowered(ranges.columns.last);
  result.twoDimensional = ranges.twoDimensional;
  return result;
}

ExprPtr FunctionLowering::call(const Expr &expr, const Call &call) {
  Callee callee = resolve(expr.place, call);
  bool nothing = callee.builtin ? callee.builtin->rule == ResultRule::None
                                : callee.definition->outputs.empty();
  if (nothing)
    fail(expr.place, "'" + call.fullName() + "' has no result: expected it as a statement alone");
  if (callee.builtin)
    return builtinCall(expr.place, call, *callee.builtin);
  CallBlock block = functionCall(expr.place, call, callee);
  std::string result = temporary();
  block.results.front() = result;
  builder->block(expr.place, std::move(block));
  return makeExpr(expr.place, Variable{result});
}

ExprPtr FunctionLowering::builtinCall(SourceLocation place, const Call &call,
                                      const Builtin &builtin) {
  Call lowered;
  lowered.name = call.name;
  lowered.builtin = &builtin;
  for (const Argument *argument : bindArguments(place, call, builtin))
    lowered.arguments.push_back(
        argument ? Argument{argument->name, expression(*argument->value), argument->place}
                 : Argument{"", nullptr, place});
  return makeExpr(place, std::move(lowered));
}

// --- Operands --------------------------------------------------------------------------------

Operand FunctionLowering::operand(const Expr &expr) { return keep(expression(expr)); }

/// A literal or a variable as it is, anything else through a variable of its own.
Operand FunctionLowering::keep(ExprPtr lowered) {
  SourceLocation place = lowered->place;
  if (auto *literal = lowered->as<Literal>())
    return {literal->value, place};
  if (auto *variable = lowered->as<Variable>())
    return {variable->name, place};
  if (auto *unary = lowered->as<Unary>(); unary && unary->op == UnaryOp::Minus)
    if (auto *literal = unary->operand->as<Literal>()) {
      if (auto *integer = std::get_if<int64_t>(&literal->value))
        return {LiteralValue(-*integer), place};
      if (auto *number = std::get_if<double>(&literal->value))
        return {LiteralValue(-*number), place};
    }
  Assign assign;
  std::string name = temporary();
  assign.targets.push_back({name, {}, place});
  assign.value = std::move(lowered);
  builder->statement(place, std::move(assign));
  return {name, place};
}

// --- Calls of script functions ---------------------------------------------------------------

/// `s_NAME` next to `m_NAME`: the same function for a number.
static const FunctionDefinition *scalarTwin(const Module &module,
                                            const FunctionDefinition &definition) {
  if (!definition.name.starts_with("m_"))
    return nullptr;
  auto found = module.functions.find("s_" + definition.name.substr(2));
  bool fits = found != module.functions.end() && !found->second->external &&
              found->second->inputs.size() == definition.inputs.size() &&
              found->second->outputs.size() == definition.outputs.size();
  return fits ? found->second : nullptr;
}

CallBlock FunctionLowering::functionCall(SourceLocation place, const Call &call,
                                         const Callee &callee) {
  const FunctionDefinition &definition = *callee.definition;
  Signature signature;
  for (const TypedName &input : definition.inputs)
    signature.parameters.push_back({input.name, !input.defaultValue});
  std::vector<const Argument *> given = bindArguments(place, call, signature);

  std::vector<std::optional<Operand>> bound(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i])
      bound[i] = operand(*given[i]->value);
  CallBlock block;
  block.callee = shared.function(*callee.module, definition);
  if (const FunctionDefinition *scalar = scalarTwin(*callee.module, definition))
    block.ofScalar = shared.function(*callee.module, *scalar);
  for (size_t i = 0; i < bound.size(); ++i) {
    if (!bound[i])
      bound[i] = defaultOperand(place, callee, i, bound);
    block.arguments.push_back(*bound[i]);
  }
  block.results.resize(definition.outputs.size());
  return block;
}

/// Puts arguments instead of the parameters that a default mentions.
static void substitute(Expr &expr, const FunctionDefinition &definition,
                       const std::vector<std::optional<Operand>> &bound) {
  auto argument = [&](const std::string &name) -> const Operand & {
    for (size_t i = 0; i < bound.size(); ++i)
      if (definition.inputs[i].name == name && bound[i])
        return *bound[i];
    fail(expr.place, "a default may mention the parameters before it, got '" + name + "'");
  };
  if (auto *variable = expr.as<Variable>()) {
    if (auto constant = constantNamed(variable->name)) {
      expr.node = Literal{*constant};
      return;
    }
    const Operand &found = argument(variable->name);
    if (found.literal())
      expr.node = Literal{*found.literal()};
    else
      variable->name = *found.variable();
  } else if (auto *index = expr.as<Index>()) {
    const Operand &found = argument(index->name);
    if (found.literal())
      fail(expr.place, "expected a matrix, frame or list to index, got a literal");
    index->name = *found.variable();
  }
  forEachOperand(expr, [&](Expr &operand) { substitute(operand, definition, bound); });
}

Operand FunctionLowering::defaultOperand(SourceLocation place, const Callee &callee,
                                         size_t position,
                                         const std::vector<std::optional<Operand>> &bound) {
  if (defaultDepth >= kMaximumDefaultDepth)
    fail(place, "the defaults of '" + callee.definition->name + "' call each other without end");
  ExprPtr value = clone(*callee.definition->inputs[position].defaultValue);
  substitute(*value, *callee.definition, bound);
  ++defaultDepth;
  Module *caller = std::exchange(module, callee.module);
  Operand result = operand(*value);
  module = caller;
  --defaultDepth;
  return result;
}

} // namespace headrace::script
