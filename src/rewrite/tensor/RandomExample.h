// Random terms that a rule's left-hand side fits.
#pragma once

#include "rewrite/rule/Rule.h"
#include "rewrite/tensor/TensorFacts.h"

#include <random>

namespace headrace::rewrite {

/// One attempt: values for the variables of a rule, and its left side made of them.
class RandomExample {
public:
  RandomExample(const Rule &rule, const OperatorSet &operators, Vocabulary &vocabulary,
                std::mt19937_64 &random);

  /// Whether the left side has a shape and the conditions hold.
  bool fits();

  Vocabulary &vocabulary;
  Terms terms;
  TermShapes shapes;
  Bindings bindings;
  TermId left = 0;

private:
  static constexpr TermId unbound = UINT32_MAX;

  uint64_t below(uint64_t end) { return random() % end; }
  int64_t randomSize() { return sizes[below(sizes.size())]; }
  Attribute randomAttribute();
  Shape randomShape();
  Shape similarTo(Shape shape);
  /// Nothing if operands do not fit.
  std::optional<TermId> build(const Pattern &pattern, const Shape *sibling);

  const Rule &rule;
  std::mt19937_64 &random;
  std::vector<int64_t> sizes; // few, so that they often are equal or multiples
  std::vector<Shape> seen;
};

} // namespace headrace::rewrite
