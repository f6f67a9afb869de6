#include "script/Interpreter.h"

#include "runtime/system/Interruption.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::script {

// Calls within calls; beyond this a recursion has no end.
static constexpr int kDeepestCall = 256;

void Interpreter::run(const Program &program, Environment &variables, HostContext &host) {
  context = &host;
  depth = 0;
  loop = {};
  runner.endLoops();
  run(program.main.body, variables);
}

void Interpreter::run(const BlockList &blocks, Environment &variables) {
  for (const Block &block : blocks)
    run(block, variables);
}

Value Interpreter::value(const Operand &operand, const Environment &variables) const {
  if (auto *literal = operand.literal())
    return Value::of(*literal);
  auto found = variables.find(*operand.variable());
  if (found == variables.end())
    fail(operand.place, "variable '" + *operand.variable() + "' has no value here");
  return found->second;
}

bool Interpreter::condition(const Operand &operand, const Environment &variables) const {
  try {
    return value(operand, variables).truth("a condition");
  } catch (const Error &error) {
    if (error.kind() != ErrorKind::TypeMismatch)
      throw;
    fail(operand.place, error.what(), error.kind());
  }
}

/// Adds the variables that the block writes.
static void addWritten(const Block &block, std::set<std::string> &names) {
  auto addAll = [&](const BlockList &blocks) {
    for (const Block &inner : blocks)
      addWritten(inner, names);
  };
  if (auto *straight = block.as<BasicBlock>()) {
    for (const StatementPtr &statement : straight->statements)
      if (auto *assign = statement->as<Assign>())
        for (const Target &target : assign->targets)
          names.insert(target.name);
  } else if (auto *choice = block.as<IfBlock>()) {
    addAll(choice->then);
    addAll(choice->otherwise);
  } else if (auto *loop = block.as<WhileBlock>()) {
    addAll(loop->header);
    addAll(loop->body);
  } else if (auto *loop = block.as<ForBlock>()) {
    names.insert(loop->variable);
    addAll(loop->body);
  } else if (auto *call = block.as<CallBlock>()) {
    names.insert(call->results.begin(), call->results.end());
  }
}

void Interpreter::run(const Block &block, Environment &variables) {
  pollInterruption();
  if (auto *straight = block.as<BasicBlock>()) {
    runner.run(*straight, variables, *context, loop);
  } else if (auto *choice = block.as<IfBlock>()) {
    run(condition(choice->condition, variables) ? choice->then : choice->otherwise, variables);
  } else if (block.as<WhileBlock>() || block.as<ForBlock>()) {
    auto [entry, isNew] = written.try_emplace(&block);
    if (isNew)
      addWritten(block, entry->second);
    LoopState outer = std::exchange(loop, {true, &entry->second});
    if (auto *repeated = block.as<WhileBlock>())
      runWhile(*repeated, variables);
    else
      runFor(*block.as<ForBlock>(), variables);
    loop = outer;
    if (!loop.inside)
      runner.endLoops();
  } else if (auto *function = block.as<CallBlock>()) {
    call(*function, block.place, variables);
  }
}

void Interpreter::runWhile(const WhileBlock &loop, Environment &variables) {
  while (true) {
    pollInterruption();
    run(loop.header, variables);
    if (!condition(loop.condition, variables))
      break;
    run(loop.body, variables);
  }
}

void Interpreter::runFor(const ForBlock &loop, Environment &variables) {
  auto bound = [&](const Operand &operand) {
    try {
      double number = value(operand, variables).number("a bound of a loop");
      // Beyond, a number plus 1 is the same number: the loop would never end.
      if (std::fabs(number) >= 0x1p53)
        fail(operand.place, "expected a bound of a loop below 2^53, got " + numberText(number),
             ErrorKind::InvalidArgument);
      return number;
    } catch (const Error &error) {
      if (error.kind() != ErrorKind::TypeMismatch)
        throw;
      fail(operand.place, error.what(), error.kind());
    }
  };
  double from = bound(loop.from), to = bound(loop.to);
  double step = loop.step ? bound(*loop.step) : from <= to ? 1 : -1;
  if (step == 0)
    fail(loop.step->place, "expected a step other than 0");
  bool whole = from == std::floor(from) && step == std::floor(step);
  // Counted rather than accumulated: no error of rounding collects.
  for (int64_t i = 0;; ++i) {
    double at = from + static_cast<double>(i) * step;
    if (!(step > 0 ? at <= to : at >= to))
      break;
    pollInterruption();
    variables[loop.variable] = whole ? Value(static_cast<int64_t>(at)) : Value(at);
    run(loop.body, variables);
  }
}

[[noreturn]] static void failKind(const Value &value, const TypedName &declared,
                                  const std::string &function, SourceLocation place) {
  fail(place,
       "'" + declared.name + "' of " + function + " is declared " + toText(declared.type) +
           ", got " + describe(value),
       ErrorKind::TypeMismatch);
}

/// A scalar as the declared type wants it, text read as what it says; none if it says nothing of
/// the kind. A variable declared a string may be any scalar.
static std::optional<Value> converted(const Value &value, ValueType type) {
  const std::string *text = value.as<std::string>();
  bool numeric = type == ValueType::Double || type == ValueType::Integer;
  Value number = value;
  if (text && numeric) {
    auto parsed = parseNumber(*text);
    if (!parsed)
      return std::nullopt;
    number = *parsed;
  }
  switch (type) {
  case ValueType::Double:
    return number.number("a parameter");
  case ValueType::Integer:
    return number.truncated("a parameter");
  case ValueType::Boolean:
    return text ? isTrue(*text) : value.truth("a parameter");
  default:
    return value;
  }
}

static Value passed(Value value, const TypedName &declared, const std::string &function,
                    SourceLocation place) {
  Type found = value.type();
  bool scalar = declared.type.isScalar() && declared.type.value != ValueType::Unknown;
  if ((declared.type.isMatrix() && !found.isMatrix()) || (scalar && !found.isScalar()))
    failKind(value, declared, function, place);
  if (!scalar)
    return value;
  auto result = converted(value, declared.type.value);
  if (!result)
    failKind(value, declared, function, place);
  return std::move(*result);
}

/// Like `passed`, but never drops a fraction: a double returned for a declared integer stays a
/// double. (If that is known before the run, the script is rejected.)
static Value returned(Value value, const TypedName &declared, const std::string &function,
                      SourceLocation place) {
  if (declared.type == Type::scalar(ValueType::Integer) && value.as<double>())
    return value;
  return passed(std::move(value), declared, function, place);
}

void Interpreter::call(const CallBlock &call, SourceLocation place, Environment &variables) {
  const FunctionDefinition &definition = *call.callee->definition;
  if (definition.external)
    failNotExecuted(place, definition.name);
  if (++depth > kDeepestCall)
    fail(place, "calls are nested more than " + std::to_string(kDeepestCall) + " deep");
  Environment inner;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const TypedName &parameter = definition.inputs[i];
    inner[parameter.name] = passed(value(call.arguments[i], variables), parameter, definition.name,
                                   call.arguments[i].place);
  }
  for (const std::string &name : call.lastUses)
    variables.erase(name);
  LoopState outer = std::exchange(loop, {loop.inside, nullptr});
  run(call.callee->body, inner);
  loop = outer;
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!call.wanted[i])
      continue;
    const TypedName &output = definition.outputs[i];
    auto found = inner.find(output.name);
    if (found == inner.end())
      fail(place, "'" + definition.name + "' did not set its result '" + output.name + "'");
    variables[call.results[i]] = returned(found->second, output, definition.name, place);
  }
  --depth;
}

} // namespace headrace::script
