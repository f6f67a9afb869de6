// An e-graph: a set of terms together with the equalities known among them. Equal terms are in one
// class; a class holds nodes, operators over classes, so that it stands for all terms that choosing
// a node in each class gives.
//
// Merging two classes may make nodes elsewhere equal (congruence). That is not followed up at once:
// `rebuild` does it for all merges since the last one, which is where the speed comes from. Between
// a merge and the next rebuild, only add, find and merge may be called.
#pragma once

#include "rewrite/egraph/NodeTable.h"
#include "rewrite/egraph/UnionFind.h"
#include "rewrite/term/Terms.h"

namespace headrace::rewrite {

using ClassId = uint32_t;
using NodeId = uint32_t;
class Analysis;

class EGraph {
public:
  explicit EGraph(Vocabulary &vocabulary) : words(&vocabulary) {}
  EGraph(const EGraph &) = delete;
  EGraph &operator=(const EGraph &) = delete;

  /// Facts to keep for every class; only before the first node. The caller keeps it alive.
  void attach(Analysis &analysis);

  ClassId add(OperatorId op, std::span<const ClassId> operands) {
    return classOf(addNode(op, operands));
  }
  ClassId add(OperatorId op, std::initializer_list<ClassId> operands) {
    return add(op, std::span(operands.begin(), operands.size()));
  }
  ClassId add(const Terms &terms, TermId root);
  /// The node itself, which may have been there before. Its class is made for it, and has its
  /// number until it is merged into another.
  NodeId addNode(OperatorId op, std::span<const ClassId> operands);

  /// Whether they were different classes.
  bool merge(ClassId a, ClassId b);
  void rebuild();

  ClassId find(ClassId id) const { return sets.find(id); }
  ClassId find(ClassId id) { return sets.find(id); }

  Vocabulary &vocabulary() const { return *words; }
  OperatorId opId(NodeId node) const { return nodes[node].op; }
  const Operator &opOf(NodeId node) const { return (*words)[nodes[node].op]; }
  /// After a rebuild these are roots: classes that `find` gives.
  std::span<const ClassId> operandsOf(NodeId node) const {
    return {operands.data() + nodes[node].firstOperand, nodes[node].operandCount};
  }
  ClassId classOf(NodeId node) const { return sets.find(nodes[node].owner); }

  /// Distinct nodes in distinct classes.
  size_t nodeCount() const { return liveNodes; }
  size_t classCount() const { return liveClasses; }
  /// Every class and node that ever was has a smaller number.
  size_t classIdEnd() const { return sets.size(); }
  size_t nodeIdEnd() const { return nodes.size(); }

  /// The state at the last rebuild: roots in ascending order, a class's nodes sorted by name, then
  /// number.
  const std::vector<ClassId> &classes() const { return roots; }
  std::span<const NodeId> nodesOf(ClassId root) const { return contents[root].nodes; }
  std::span<const NodeId> nodesOf(ClassId root, Name name) const;
  /// Roots of classes with a node of that name, ascending.
  std::span<const ClassId> classesWith(Name name) const;

  /// Rebuilds so far.
  uint32_t epoch() const { return rebuilds; }
  /// For each root, the last epoch in which its class, or a class up to `levels` levels below it,
  /// changed. What was true of them before is still true.
  const std::vector<uint32_t> &changedWithin(size_t levels) const;

private:
  struct Node {
    OperatorId op;
    Name name;
    uint32_t firstOperand, operandCount;
    ClassId owner; // the class it was made for; find() gives today's
    bool live;     // not a duplicate of another
  };
  struct Contents {
    std::vector<NodeId> nodes;
    std::vector<NodeId> users; // nodes that have this class as an operand
    bool changed = true;       // nodes are not sorted, may be dead
  };

  /// Names share bits: one that is set tells nothing.
  static uint64_t bitOf(Name name) { return uint64_t{1} << (name % 64); }
  NodeId lookUp(uint64_t hash, OperatorId op, std::span<const ClassId> operands) const;
  uint64_t hashOfNode(NodeId node) const { return hashOf(nodes[node].op, operandsOf(node)); }
  void restoreCongruence();
  void repair(NodeId node);
  void updateAnalyses();
  void indexNodes();

  Vocabulary *words;
  std::vector<Analysis *> analyses;
  UnionFind sets;
  std::vector<Node> nodes;
  std::vector<ClassId> operands; // of all nodes, one after the other
  std::vector<Contents> contents;
  NodeTable table;
  std::vector<NodeId> toRepair;     // users of merged classes
  std::vector<NodeId> toReconsider; // users of classes about which more is known
  std::vector<ClassId> toModify;    // classes about which more is known
  std::vector<ClassId> roots;
  std::vector<ClassId> wanted;    // operands of the node that is added
  std::vector<uint64_t> nameBits; // by root: of its nodes' names
  uint32_t rebuilds = 0;
  std::vector<uint32_t> changedAt;                    // by class
  mutable std::vector<std::vector<uint32_t>> changes; // by levels, since the last rebuild
  std::vector<std::vector<ClassId>> byName;
  size_t liveNodes = 0, liveClasses = 0;
};

} // namespace headrace::rewrite
