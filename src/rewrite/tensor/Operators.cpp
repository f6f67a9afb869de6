#include "rewrite/tensor/Operators.h"

#include "runtime/system/Text.h"

namespace headrace::rewrite {

OperatorCall callOf(const Operator &op, const Vocabulary &vocabulary) {
  OperatorCall call;
  for (Attribute attribute : op.attributes)
    if (attribute.isNumber())
      call.numbers.push_back(attribute.value);
    else
      call.names.push_back(vocabulary.text(static_cast<Name>(attribute.value)));
  return call;
}

void OperatorSet::add(std::span<const TensorOperator> operators) {
  for (const TensorOperator &op : operators)
    byName.emplace(op.name, &op);
}

const TensorOperator *OperatorSet::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : found->second;
}

namespace {

bool fits(const Operator &op, const Language::OperatorSignature &signature) {
  size_t least = signature.attributes.size(), count = op.attributes.size();
  if (count < least || (count > least && !signature.moreNumbers))
    return false;
  for (size_t i = 0; i < count; ++i) {
    bool number = i >= least || signature.attributes[i] == Language::Kind::Number;
    if (op.attributes[i].isNumber() != number)
      return false;
  }
  return true;
}

bool isWithinBounds(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > maxElements)
      return false;
  return true;
}

} // namespace

ShapeResult OperatorSet::shapeOf(const Operator &op, const Vocabulary &vocabulary,
                                 std::span<const Shape> operands) const {
  std::string_view name = vocabulary.text(op.name);
  const TensorOperator *known = find(name);
  if (!known)
    return ShapeResult::none("there is no operator " + inQuotes(name));
  if (!fits(op, known->signature) || operands.size() != known->signature.operands)
    return ShapeResult::none("wrong attributes or number of operands");
  ShapeResult result = known->shape(callOf(op, vocabulary), operands);
  if (result.shape && !isWithinBounds(*result.shape))
    return ShapeResult::none("a result of negative size or with more than 2^40 elements");
  return result;
}

} // namespace headrace::rewrite
