#include "rewrite/tensor/RandomExample.h"

#include "rewrite/tensor/Functions.h"

namespace headrace::rewrite {

RandomExample::RandomExample(const Rule &rule, const OperatorSet &operators, Vocabulary &vocabulary,
                             std::mt19937_64 &random)
    : vocabulary(vocabulary), terms(vocabulary), shapes(terms, operators), rule(rule),
      random(random) {
  auto a = static_cast<int64_t>(1 + below(4)), b = static_cast<int64_t>(1 + below(4));
  sizes = {a, b, a * b, a + b, a * 2, static_cast<int64_t>(below(12))};
  bindings.subjects.assign(rule.subjects.size(), unbound);
  for (size_t i = 0; i < rule.values.size(); ++i)
    bindings.values.push_back(i < rule.parameterCount
                                  ? Attribute::number(std::max<int64_t>(1, randomSize()))
                                  : randomAttribute());
}

bool RandomExample::fits() {
  std::optional<TermId> built = build(rule.left, nullptr);
  if (!built)
    return false;
  left = *built;
  return clausesHold(rule, bindings, shapes);
}

// Axes are small numbers, sizes any of ours; functions go by name.
Attribute RandomExample::randomAttribute() {
  switch (below(4)) {
  case 0:
    return Attribute::number(randomSize());
  case 1: {
    std::span<const ScalarFunction> functions = scalarFunctions();
    return Attribute::name(vocabulary.name(functions[below(functions.size())].name));
  }
  default:
    return Attribute::number(static_cast<int64_t>(1 + below(3)));
  }
}

Shape RandomExample::randomShape() {
  Shape shape(below(6));
  for (int64_t &size : shape)
    size = randomSize();
  return shape;
}

// Operands mostly have axes in common: the same shape, or one axis more, less or of another size.
Shape RandomExample::similarTo(Shape shape) {
  for (uint64_t changes = below(3); changes-- > 0;) {
    auto at = shape.begin() + static_cast<ptrdiff_t>(below(shape.size() + 1));
    switch (below(3)) {
    case 0:
      shape.insert(at, randomSize());
      break;
    case 1:
      if (at != shape.end())
        shape.erase(at);
      break;
    default:
      if (at != shape.end())
        *at = randomSize();
    }
  }
  return shape;
}

std::optional<TermId> RandomExample::build(const Pattern &pattern, const Shape *sibling) {
  if (pattern.isVariable) {
    TermId &bound = bindings.subjects[pattern.slot];
    if (bound != unbound)
      return bound;
    Shape shape = sibling && below(8) != 0         ? similarTo(*sibling)
                  : !seen.empty() && below(3) != 0 ? similarTo(seen[below(seen.size())])
                                                   : randomShape();
    if (shape.size() > 6)
      return {};
    std::vector<Attribute> attributes = {
        Attribute::name(vocabulary.name(rule.subjects[pattern.slot]))};
    for (int64_t size : shape)
      attributes.push_back(Attribute::number(size));
    seen.push_back(std::move(shape));
    return bound = terms.add(vocabulary.op("tensor", std::move(attributes)));
  }
  std::vector<Attribute> attributes;
  for (const Expression &attribute : pattern.attributes)
    attributes.push_back(attribute.kind == Expression::Kind::Literal
                             ? attribute.literal
                             : bindings.values[attribute.slot]);
  std::vector<TermId> operands(pattern.operands.size(), unbound);
  // Variables last: what they have to fit is known then.
  std::optional<Shape> known;
  for (bool variables : {false, true})
    for (size_t i = 0; i < operands.size(); ++i) {
      if (pattern.operands[i].isVariable != variables)
        continue;
      std::optional<TermId> operand = build(pattern.operands[i], known ? &*known : nullptr);
      if (!operand)
        return {};
      operands[i] = *operand;
      known = shapes.shapeOf(*operand);
    }
  TermId term = terms.add(vocabulary.op(pattern.name, std::move(attributes)), std::move(operands));
  ShapeResult result = shapes.tryShapeOf(term);
  constexpr int64_t maxElementsOfExamples = 1 << 14;
  if (!result.shape || elementCount(*result.shape) > maxElementsOfExamples)
    return {};
  return term;
}

} // namespace headrace::rewrite
