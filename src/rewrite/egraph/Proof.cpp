#include "rewrite/egraph/Proof.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <deque>

namespace headrace::rewrite {

void Proof::made(const EGraph &graph, ClassId, NodeId node) {
  std::vector<TermId> operands;
  for (ClassId operand : graph.operandsOf(node))
    operands.push_back(first[operand]); // a class has the number of the node it was made for
  first.resize(node + 1);
  first[node] = all.add(graph.opId(node), std::move(operands));
}

void Proof::congruent(NodeId node, NodeId twin) { add(first[node], first[twin]); }

void Proof::add(TermId left, TermId right, uint32_t rule) {
  if (left == right)
    return;
  byTerm[left].push_back(equalities.size());
  byTerm[right].push_back(equalities.size());
  equalities.push_back({left, right, rule});
}

namespace {

/// The left side with what its variables stand for; `linked` is told of each operator's node.
TermId leftTerm(const Pattern &pattern, const Bindings &bindings,
                const std::unordered_map<const Pattern *, NodeId> &nodes, const EGraph &graph,
                Terms &terms, const std::function<void(TermId, NodeId)> &linked) {
  if (pattern.isVariable)
    return bindings.subjects[pattern.slot];
  NodeId node = nodes.at(&pattern);
  std::vector<TermId> operands;
  for (const Pattern &operand : pattern.operands)
    operands.push_back(leftTerm(operand, bindings, nodes, graph, terms, linked));
  TermId term = terms.add(graph.opId(node), std::move(operands));
  linked(term, node);
  return term;
}

} // namespace

void Proof::applied(EGraph &graph, uint32_t rule, const Matcher &matcher, const Match &match,
                    std::span<const OperatorId> operators) {
  auto isTermOf = [&](TermId term, NodeId node) { add(term, first[node]); };
  Bindings terms = match.bindings;
  for (uint32_t &subject : terms.subjects)
    subject = first[subject];
  std::unordered_map<const Pattern *, NodeId> nodes;
  for (size_t i = 0; i < match.nodes.size(); ++i)
    nodes[matcher.patterns()[i]] = match.nodes[i];
  TermId left = leftTerm(matcher.instance().rule->left, terms, nodes, graph, all, isTermOf);

  // On the right each subject is a term and its class, by their number here.
  std::vector<std::pair<TermId, ClassId>> subjects;
  Bindings numbers = match.bindings;
  for (uint32_t &subject : numbers.subjects) {
    subjects.emplace_back(first[subject], subject);
    subject = static_cast<uint32_t>(subjects.size() - 1);
  }
  uint32_t right = buildRight(*matcher.instance().rule, numbers, operators,
                              [&](OperatorId op, std::span<const uint32_t> operands) {
                                std::vector<TermId> operandTerms;
                                std::vector<ClassId> operandClasses;
                                for (uint32_t operand : operands) {
                                  operandTerms.push_back(subjects[operand].first);
                                  operandClasses.push_back(subjects[operand].second);
                                }
                                NodeId node = graph.addNode(op, operandClasses);
                                TermId term = all.add(op, std::move(operandTerms));
                                isTermOf(term, node);
                                subjects.emplace_back(term, graph.classOf(node));
                                return static_cast<uint32_t>(subjects.size() - 1);
                              });
  add(left, subjects[right].first, rule);
}

void Proof::chosen(const EGraph &graph, ClassId root, TermId term,
                   const std::unordered_map<ClassId, NodeId> &nodes) {
  // Classes of the term's subterms, from the root down; equalities come from the operands up.
  std::unordered_map<TermId, NodeId> nodeOf;
  std::vector<std::pair<TermId, ClassId>> open = {{term, graph.find(root)}};
  while (!open.empty()) {
    auto [id, owner] = open.back();
    open.pop_back();
    NodeId node = nodes.at(owner);
    if (!nodeOf.emplace(id, node).second)
      continue;
    for (size_t i = 0; i < all[id].operands.size(); ++i)
      open.emplace_back(all[id].operands[i], graph.find(graph.operandsOf(node)[i]));
  }
  for (TermId id : all.reachableFrom(term))
    add(id, first[nodeOf.at(id)]);
}

std::vector<size_t> Proof::path(TermId from, TermId to, size_t before) const {
  std::unordered_map<TermId, size_t> reachedBy = {{from, SIZE_MAX}};
  std::deque<TermId> open = {from};
  while (!open.empty() && !reachedBy.contains(to)) {
    TermId term = open.front();
    open.pop_front();
    auto known = byTerm.find(term);
    if (known == byTerm.end())
      continue;
    for (size_t number : known->second) {
      const Equality &equality = equalities[number];
      TermId other = equality.left == term ? equality.right : equality.left;
      if (number < before && reachedBy.emplace(other, number).second)
        open.push_back(other);
    }
  }
  if (!reachedBy.contains(to))
    throw InternalError("an e-graph cannot say why two of its terms are equal");
  std::vector<size_t> numbers;
  for (TermId term = to; term != from;) {
    size_t number = reachedBy.at(term);
    numbers.push_back(number);
    term = equalities[number].left == term ? equalities[number].right : equalities[number].left;
  }
  std::ranges::reverse(numbers);
  return numbers;
}

} // namespace headrace::rewrite
