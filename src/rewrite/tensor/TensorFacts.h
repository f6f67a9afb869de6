// Functions of sizes in rules (`size(?x, 1)`), evaluated from shapes.
#pragma once

#include "rewrite/egraph/Analysis.h"
#include "rewrite/rule/Expression.h"
#include "rewrite/tensor/Operators.h"

namespace headrace::rewrite {

class TensorFacts : public Facts {
public:
  explicit TensorFacts(const Vocabulary &vocabulary) : vocabulary(vocabulary) {}
  std::optional<int64_t> call(Name function, std::span<const Argument> arguments) const override;

protected:
  virtual const Shape &shapeOf(uint32_t subject) const = 0;
  virtual bool isOnChip(uint32_t) const { return true; }
  virtual bool fitsChip(uint32_t) const { return true; }
  virtual bool computes(std::string_view) const { return true; }

private:
  std::optional<int64_t> ofSubject(std::string_view function, uint32_t subject,
                                   std::span<const Argument> rest) const;
  const Vocabulary &vocabulary;
};

/// The shapes of terms, found when they are asked for. Throws Error at a term that has none.
class TermShapes : public TensorFacts {
public:
  TermShapes(const Terms &terms, const OperatorSet &operators)
      : TensorFacts(terms.vocabulary()), terms(terms), operators(operators) {}
  const Shape &shapeOf(TermId term) const override;
  /// Like `shapeOf`, but returns the fault instead of throwing.
  ShapeResult tryShapeOf(TermId term) const;

private:
  const Terms &terms;
  const OperatorSet &operators;
  mutable std::unordered_map<TermId, Shape> known;
};

/// The shapes of classes. Nodes of one class have one shape: else a rule is wrong, and whoever
/// applied it gets an Error.
class ShapeAnalysis : public LatticeAnalysis<Shape> {
public:
  explicit ShapeAnalysis(const OperatorSet &operators) : operators(operators) {}
  Shape make(const EGraph &graph, NodeId node) const override;
  bool join(Shape &facts, const Shape &more) const override;

private:
  const OperatorSet &operators;
};

class ClassShapes : public TensorFacts {
public:
  ClassShapes(const EGraph &graph, const ShapeAnalysis &shapes)
      : TensorFacts(graph.vocabulary()), graph(graph), shapes(shapes) {}

protected:
  const Shape &shapeOf(ClassId id) const override { return shapes.of(graph.find(id)); }
  const EGraph &graph;

private:
  const ShapeAnalysis &shapes;
};

} // namespace headrace::rewrite
