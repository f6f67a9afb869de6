// Facts about classes, kept up to date while the graph grows: shapes, element types, constants,
// where a value lies. The facts of a class are those of each of its nodes, joined.
#pragma once

#include "rewrite/egraph/EGraph.h"

namespace headrace::rewrite {

class Analysis {
public:
  virtual ~Analysis() = default;

  /// A class that holds this node alone came to be; classes come in the order of their numbers.
  virtual void made(const EGraph &graph, ClassId made, NodeId node) = 0;
  /// Facts about `gone` now hold of `kept`, too. Says whether more is known of `kept` than before,
  /// and whether `kept` knew more than `gone`.
  struct Joined {
    bool keptLearned = false, goneLearned = false;
  };
  virtual Joined joined(ClassId kept, ClassId gone) = 0;
  /// More is known of an operand of the node; whether more is known of its class in consequence.
  virtual bool reconsider(const EGraph &graph, ClassId owner, NodeId node) = 0;
  /// Two nodes are one since their operands are equal; their classes are merged next.
  virtual void congruent(NodeId node, NodeId twin) {}
  /// More is known of this class: the analysis may add what follows, as a constant that was found.
  virtual void modify(EGraph &graph, ClassId changed) {}
};

/// An analysis whose facts are values of a lattice: `make` gives what a node alone tells, `join`
/// adds `more` to `facts` and says whether that changed it. Join has to be commutative,
/// associative and idempotent, and `make` monotone, or rebuilding may not end.
template <typename Facts> class LatticeAnalysis : public Analysis {
public:
  const Facts &of(ClassId root) const { return facts[root]; }

  virtual Facts make(const EGraph &graph, NodeId node) const = 0;
  virtual bool join(Facts &facts, const Facts &more) const = 0;

  void made(const EGraph &graph, ClassId made, NodeId node) override {
    facts.resize(made + 1);
    facts[made] = make(graph, node);
  }
  Joined joined(ClassId kept, ClassId gone) override {
    Facts keptBefore = facts[kept];
    Joined result;
    result.keptLearned = join(facts[kept], facts[gone]);
    result.goneLearned = join(facts[gone], keptBefore);
    return result;
  }
  bool reconsider(const EGraph &graph, ClassId owner, NodeId node) override {
    return join(facts[owner], make(graph, node));
  }

private:
  std::vector<Facts> facts;
};

} // namespace headrace::rewrite
