#include "rewrite/egraph/Matcher.h"

#include <algorithm>

namespace headrace::rewrite {

Matcher::Matcher(RuleInstance instance) : rule(std::move(instance)) { compile(); }

// The occurrences of a variable are compared as soon as both are bound, before more nodes are
// visited.
void Matcher::compile() {
  constexpr uint32_t unset = UINT32_MAX;
  const Rule &source = *rule.rule;
  subjectRegisters.assign(source.subjects.size(), unset);
  std::vector<bool> known(source.values.size());
  std::fill_n(known.begin(), source.parameterCount, true);

  struct Open {
    const Pattern *pattern;
    uint32_t in;
    size_t depth;
  };
  std::vector<Open> open = {{&source.left, 0, 0}};
  while (!open.empty()) {
    auto [pattern, in, level] = open.back();
    open.pop_back();
    if (!pattern->operands.empty())
      depth = std::max(depth, level + 1);
    Step step{Step::Kind::Bind,
              in,
              registerCount,
              pattern->name,
              static_cast<uint32_t>(pattern->operands.size()),
              {}};
    for (const Expression &attribute : pattern->attributes) {
      if (attribute.kind == Expression::Kind::Literal) {
        step.attributes.push_back({AttributeStep::Kind::Literal, attribute.literal, 0});
        continue;
      }
      auto kind = known[attribute.slot] ? AttributeStep::Kind::Compare : AttributeStep::Kind::Keep;
      step.attributes.push_back({kind, {}, attribute.slot});
      known[attribute.slot] = true;
    }
    steps.push_back(step);
    operators.push_back(pattern);
    registerCount += step.operandCount;
    for (uint32_t i = 0; i < step.operandCount; ++i) {
      const Pattern &operand = pattern->operands[i];
      uint32_t at = step.out + i;
      if (!operand.isVariable)
        open.push_back({&operand, at, level + 1});
      else if (uint32_t &first = subjectRegisters[operand.slot]; first == unset)
        first = at;
      else
        steps.push_back({Step::Kind::Same, at, first, 0, 0, {}});
    }
  }
}

class Search {
public:
  Search(const Matcher &matcher, const EGraph &graph, const Facts &facts, size_t limit,
         const std::function<bool()> &stop, Searched &before)
      : matcher(matcher), rule(*matcher.rule.rule), graph(graph), facts(facts), limit(limit),
        stop(stop), before(before), registers(matcher.registerCount) {
    bindings.subjects.resize(rule.subjects.size());
    bindings.values.resize(rule.values.size());
    std::ranges::copy(matcher.rule.parameters, bindings.values.begin());
  }

  std::vector<Match> run() {
    const std::vector<uint32_t> &changed = graph.changedWithin(matcher.depth);
    before.known = 0;
    before.counts.resize(graph.classIdEnd());
    for (ClassId root : graph.classesWith(rule.left.name)) {
      if (changed[root] < before.since) {
        before.known += before.counts[root];
        ended = before.known + found.size() >= limit;
      } else {
        size_t others = found.size();
        registers[0] = root;
        runFrom(0);
        before.counts[root] = static_cast<uint32_t>(found.size() - others);
      }
      if (ended)
        break;
    }
    return std::move(found);
  }

private:
  void runFrom(size_t at) {
    if (at == matcher.steps.size())
      return complete();
    const Matcher::Step &step = matcher.steps[at];
    if (step.kind == Matcher::Step::Kind::Same) {
      if (registers[step.in] == registers[step.out])
        runFrom(at + 1);
      return;
    }
    for (NodeId node : graph.nodesOf(registers[step.in], step.name)) {
      if (ended || tooLong())
        return;
      if (!takeNode(step, node))
        continue;
      taken.push_back(node);
      runFrom(at + 1);
      taken.pop_back();
    }
  }

  bool takeNode(const Matcher::Step &step, NodeId node) {
    std::span<const ClassId> operands = graph.operandsOf(node);
    const std::vector<Attribute> &attributes = graph.opOf(node).attributes;
    if (operands.size() != step.operandCount || attributes.size() != step.attributes.size())
      return false;
    for (size_t i = 0; i < attributes.size(); ++i) {
      const Matcher::AttributeStep &wanted = step.attributes[i];
      using Kind = Matcher::AttributeStep::Kind;
      if (wanted.kind == Kind::Keep)
        bindings.values[wanted.slot] = attributes[i];
      else if (attributes[i] !=
               (wanted.kind == Kind::Literal ? wanted.literal : bindings.values[wanted.slot]))
        return false;
    }
    std::ranges::copy(operands, registers.begin() + step.out);
    return true;
  }

  void complete() {
    for (size_t slot = 0; slot < matcher.subjectRegisters.size(); ++slot)
      bindings.subjects[slot] = registers[matcher.subjectRegisters[slot]];
    if (!clausesHold(rule, bindings, facts))
      return;
    found.push_back({registers[0], bindings, taken});
    ended = before.known + found.size() >= limit;
  }

  bool tooLong() {
    if ((++visited & 0xfff) == 0 && stop && stop())
      ended = true;
    return ended;
  }

  const Matcher &matcher;
  const Rule &rule;
  const EGraph &graph;
  const Facts &facts;
  size_t limit;
  const std::function<bool()> &stop;
  Searched &before;
  std::vector<ClassId> registers;
  Bindings bindings;
  std::vector<NodeId> taken;
  std::vector<Match> found;
  size_t visited = 0;
  bool ended = false;
};

std::vector<Match> Matcher::search(const EGraph &graph, const Facts &facts, size_t limit,
                                   const std::function<bool()> &stop, Searched &before) const {
  return Search(*this, graph, facts, limit, stop, before).run();
}

} // namespace headrace::rewrite
