#include "rewrite/rule/Rule.h"

namespace headrace::rewrite {

std::string_view nameOf(Level level) {
  switch (level) {
  case Level::Language:
    return "language";
  case Level::Algorithm:
    return "algorithm";
  case Level::Hardware:
    return "hardware";
  }
  return {};
}

std::string RuleInstance::name(const Vocabulary &vocabulary) const {
  std::string result = rule->name;
  for (size_t i = 0; i < parameters.size(); ++i)
    result += (i == 0 ? "[" : ", ") + vocabulary.print(parameters[i]);
  return parameters.empty() ? result : result + "]";
}

bool clausesHold(const Rule &rule, Bindings &bindings, const Facts &facts) {
  for (const Clause &clause : rule.clauses) {
    std::optional<Attribute> value = evaluate(clause.expression, bindings, facts);
    if (!value)
      return false;
    if (clause.defines)
      bindings.values[*clause.defines] = *value;
    else if (!value->isNumber() || value->value == 0)
      return false;
  }
  return true;
}

namespace {

bool resolve(const Pattern &pattern, const Bindings &bindings, const Facts &facts,
             Vocabulary &vocabulary, std::vector<OperatorId> &operators) {
  if (pattern.isVariable)
    return true;
  std::vector<Attribute> attributes;
  for (const Expression &expression : pattern.attributes) {
    std::optional<Attribute> value = evaluate(expression, bindings, facts);
    if (!value)
      return false;
    attributes.push_back(*value);
  }
  operators.push_back(vocabulary.op(pattern.name, std::move(attributes)));
  for (const Pattern &operand : pattern.operands)
    if (!resolve(operand, bindings, facts, vocabulary, operators))
      return false;
  return true;
}

/// `done` are the operands that operators further out have so far.
uint32_t build(const Pattern &pattern, const Bindings &bindings,
               std::span<const OperatorId> operators, size_t &next, const AddNode &add,
               std::vector<uint32_t> &done) {
  if (pattern.isVariable)
    return bindings.subjects[pattern.slot];
  OperatorId op = operators[next++];
  size_t first = done.size();
  for (const Pattern &operand : pattern.operands)
    done.push_back(build(operand, bindings, operators, next, add, done));
  uint32_t result = add(op, std::span(done).subspan(first));
  done.resize(first);
  return result;
}

} // namespace

std::optional<std::vector<OperatorId>> rightOperators(const Rule &rule, const Bindings &bindings,
                                                      const Facts &facts, Vocabulary &vocabulary) {
  std::vector<OperatorId> operators;
  if (!resolve(rule.right, bindings, facts, vocabulary, operators))
    return {};
  return operators;
}

uint32_t buildRight(const Rule &rule, const Bindings &bindings,
                    std::span<const OperatorId> operators, const AddNode &add) {
  size_t next = 0;
  std::vector<uint32_t> done;
  return build(rule.right, bindings, operators, next, add, done);
}

} // namespace headrace::rewrite
