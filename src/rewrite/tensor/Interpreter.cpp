#include "rewrite/tensor/Interpreter.h"

#include "rewrite/tensor/TensorFacts.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

namespace headrace::rewrite {

namespace {

const Array &inputFor(const OperatorCall &call, const Inputs &inputs) {
  auto found = inputs.find(call.names[0]);
  if (found == inputs.end())
    throw Error(ErrorKind::MissingInput, "there is no value for tensor " + inQuotes(call.names[0]));
  if (found->second.shape != call.numbers)
    throw Error(ErrorKind::ShapeMismatch, "tensor " + inQuotes(call.names[0]) +
                                              ": expected shape " + textOf(call.numbers) +
                                              ", got " + textOf(found->second.shape));
  return found->second;
}

void refuseLarge(const Terms &terms, TermId id, const Shape &shape) {
  constexpr int64_t most = int64_t{1} << 28;
  if (elementCount(shape) > most)
    throw Error(ErrorKind::OutOfRange, terms.vocabulary().print(terms[id].op) +
                                           ": expected at most 2^28 elements to compute, got " +
                                           textOf(shape));
}

} // namespace

Array evaluate(const Terms &terms, TermId root, const OperatorSet &operators, const Inputs &inputs,
               const OtherMeaning &other) {
  std::vector<TermId> order = terms.reachableFrom(root);
  TermShapes shapes(terms, operators);
  shapes.shapeOf(root); // all of them, before anything is computed
  for (TermId id : order)
    refuseLarge(terms, id, shapes.shapeOf(id));
  std::unordered_map<TermId, Array> values;
  std::unordered_map<TermId, TermId> lastUse;
  for (TermId id : order)
    for (TermId operand : terms[id].operands)
      lastUse[operand] = id;
  for (TermId id : order) {
    const Operator &op = terms.opOf(id);
    std::vector<const Array *> operands;
    for (TermId operand : terms[id].operands)
      operands.push_back(&values.at(operand));
    const Shape &shape = shapes.shapeOf(id);
    OperatorCall call = callOf(op, terms.vocabulary());
    const TensorOperator *meant = operators.find(terms.vocabulary().text(op.name));
    std::optional<Array> result;
    if (other)
      result = other(op, operands, shape);
    if (!result)
      result = meant->meaning ? meant->meaning(call, operands, shape) : inputFor(call, inputs);
    for (TermId operand : terms[id].operands)
      if (lastUse[operand] == id)
        values.erase(operand);
    values.emplace(id, std::move(*result));
  }
  return std::move(values.at(root));
}

} // namespace headrace::rewrite
