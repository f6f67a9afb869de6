// Why the terms of an e-graph are equal, kept while it grows. Every node stands for one term, that
// by which it first came to be. Two terms are made equal by a rule, which fits the one and makes
// the other, or by congruence: they are one operator of operands that were equal before.
//
// Equalities are numbered in the order in which they came to be. That of a congruence follows from
// those before it, so that an explanation always ends.
#pragma once

#include "rewrite/egraph/Analysis.h"
#include "rewrite/egraph/Matcher.h"

namespace headrace::rewrite {

class Proof : public Analysis {
public:
  /// The terms outlive the proof, which adds to them.
  explicit Proof(Terms &terms) : all(terms) {}

  struct Equality {
    static constexpr uint32_t congruence = UINT32_MAX;

    TermId left = 0, right = 0;
    uint32_t rule = congruence; ///< its number among those of the saturation
  };

  /// A rule makes a match equal to its right-hand side. Before the two classes are merged.
  void applied(EGraph &graph, uint32_t rule, const Matcher &matcher, const Match &match,
               std::span<const OperatorId> operators);
  /// A term in which node by node one of each class was chosen.
  void chosen(const EGraph &graph, ClassId root, TermId term,
              const std::unordered_map<ClassId, NodeId> &nodes);

  Terms &terms() const { return all; }
  TermId termOf(NodeId node) const { return first[node]; }
  const Equality &operator[](size_t number) const { return equalities[number]; }
  size_t size() const { return equalities.size(); }
  /// Numbers of equalities that lead from one term to another; each came before number `before`.
  std::vector<size_t> path(TermId from, TermId to, size_t before) const;

  void made(const EGraph &graph, ClassId made, NodeId node) override;
  Joined joined(ClassId, ClassId) override { return {}; }
  bool reconsider(const EGraph &, ClassId, NodeId) override { return false; }
  void congruent(NodeId node, NodeId twin) override;

private:
  void add(TermId left, TermId right, uint32_t rule = Equality::congruence);

  Terms &all;
  std::vector<TermId> first; // by node
  std::vector<Equality> equalities;
  std::unordered_map<TermId, std::vector<size_t>> byTerm;
};

} // namespace headrace::rewrite
