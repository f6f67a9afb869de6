#include "rewrite/tensor/TensorFacts.h"

#include "rewrite/tensor/Functions.h"
#include "runtime/system/Error.h"

namespace headrace::rewrite {

std::optional<int64_t> TensorFacts::call(Name function, std::span<const Argument> arguments) const {
  std::string_view name = vocabulary.text(function);
  if (!arguments.empty() && arguments[0].subject)
    return ofSubject(name, *arguments[0].subject, arguments.subspan(1));
  if ((name == "reorders" || name == "computes") && arguments.size() == 1) {
    Attribute value = arguments[0].value;
    if (value.isNumber())
      return false;
    std::string_view function = vocabulary.text(static_cast<Name>(value.value));
    const ScalarFunction *scalar = scalarFunction(function);
    return scalar && (name == "reorders" ? scalar->reorders : computes(function));
  }
  if (arguments.size() != 2 || !arguments[0].value.isNumber() || !arguments[1].value.isNumber())
    return {};
  int64_t a = arguments[0].value.value, b = arguments[1].value.value;
  if (name == "min")
    return std::min(a, b);
  if (name == "max")
    return std::max(a, b);
  return {};
}

std::optional<int64_t> TensorFacts::ofSubject(std::string_view function, uint32_t subject,
                                              std::span<const Argument> rest) const {
  if (function == "onChip")
    return isOnChip(subject);
  if (function == "fitsChip")
    return fitsChip(subject);
  const Shape &shape = shapeOf(subject);
  if (function == "rank")
    return static_cast<int64_t>(shape.size());
  if (function == "elements")
    return elementCount(shape);
  if (function == "size" && rest.size() == 1 && rest[0].value.isNumber() &&
      hasAxis(shape, rest[0].value.value))
    return sizeOf(shape, rest[0].value.value);
  return {};
}

ShapeResult TermShapes::tryShapeOf(TermId root) const {
  if (auto found = known.find(root); found != known.end())
    return found->second;
  for (TermId id : terms.reachableFrom(root)) {
    if (known.contains(id))
      continue;
    std::vector<Shape> operands;
    for (TermId operand : terms[id].operands)
      operands.push_back(known.at(operand));
    ShapeResult result = operators.shapeOf(terms.opOf(id), terms.vocabulary(), operands);
    if (!result.shape)
      return ShapeResult::none(terms.vocabulary().print(terms[id].op) + ": " + result.reason);
    known.emplace(id, std::move(*result.shape));
  }
  return known.at(root);
}

const Shape &TermShapes::shapeOf(TermId term) const {
  if (ShapeResult result = tryShapeOf(term); !result.shape)
    throw Error(ErrorKind::ShapeMismatch, result.reason);
  return known.at(term);
}

Shape ShapeAnalysis::make(const EGraph &graph, NodeId node) const {
  std::vector<Shape> operands;
  for (ClassId operand : graph.operandsOf(node))
    operands.push_back(of(operand));
  ShapeResult result = operators.shapeOf(graph.opOf(node), graph.vocabulary(), operands);
  if (!result.shape)
    throw Error(ErrorKind::ShapeMismatch,
                graph.vocabulary().print(graph.opId(node)) + ": " + result.reason);
  return *result.shape;
}

bool ShapeAnalysis::join(Shape &facts, const Shape &more) const {
  if (facts != more)
    throw Error(ErrorKind::ShapeMismatch,
                "a term of shape " + textOf(facts) + " is not one of shape " + textOf(more));
  return false;
}

} // namespace headrace::rewrite
