#include "rewrite/strategy/MatchTerm.h"

namespace headrace::rewrite {

namespace {

class TermMatcher {
public:
  TermMatcher(const RuleInstance &instance, const Terms &terms)
      : terms(terms), subjectKnown(instance.rule->subjects.size()),
        valueKnown(instance.rule->values.size()) {
    bindings.subjects.resize(subjectKnown.size());
    bindings.values.resize(valueKnown.size());
    for (size_t i = 0; i < instance.parameters.size(); ++i) {
      bindings.values[i] = instance.parameters[i];
      valueKnown[i] = true;
    }
  }

  bool match(const Pattern &pattern, TermId term) {
    if (pattern.isVariable)
      return bind(bindings.subjects, subjectKnown, pattern.slot, term);
    const Operator &op = terms.opOf(term);
    const std::vector<TermId> &operands = terms[term].operands;
    if (op.name != pattern.name || op.attributes.size() != pattern.attributes.size() ||
        operands.size() != pattern.operands.size())
      return false;
    for (size_t i = 0; i < op.attributes.size(); ++i) {
      const Expression &wanted = pattern.attributes[i];
      bool same = wanted.kind == Expression::Kind::Literal
                      ? wanted.literal == op.attributes[i]
                      : bind(bindings.values, valueKnown, wanted.slot, op.attributes[i]);
      if (!same)
        return false;
    }
    for (size_t i = 0; i < operands.size(); ++i)
      if (!match(pattern.operands[i], operands[i]))
        return false;
    return true;
  }

  Bindings bindings;

private:
  template <typename Value>
  static bool bind(std::vector<Value> &values, std::vector<bool> &known, uint32_t slot,
                   Value value) {
    if (known[slot])
      return values[slot] == value;
    values[slot] = value;
    known[slot] = true;
    return true;
  }

  const Terms &terms;
  std::vector<bool> subjectKnown, valueKnown;
};

} // namespace

std::optional<Bindings> matchTerm(const RuleInstance &instance, const Terms &terms, TermId term,
                                  const Facts &facts) {
  TermMatcher matcher(instance, terms);
  if (!matcher.match(instance.rule->left, term) ||
      !clausesHold(*instance.rule, matcher.bindings, facts))
    return {};
  return std::move(matcher.bindings);
}

std::optional<TermId> applyToTerm(const RuleInstance &instance, Terms &terms, TermId term,
                                  const Facts &facts) {
  std::optional<Bindings> bindings = matchTerm(instance, terms, term, facts);
  if (!bindings)
    return {};
  auto operators = rightOperators(*instance.rule, *bindings, facts, terms.vocabulary());
  if (!operators)
    return {};
  return buildRight(*instance.rule, *bindings, *operators,
                    [&](OperatorId op, std::span<const uint32_t> operands) {
                      return terms.add(op, {operands.begin(), operands.end()});
                    });
}

} // namespace headrace::rewrite
