// Sequences and optionals.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

static RuntimeValue sequenceOf(Values elements) { return RuntimeValue(std::move(elements)); }

static Values sequenceEmpty(HostCall &) { return {sequenceOf({})}; }

static Values sequenceConstruct(HostCall &c) {
  Values elements;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    elements.push_back(c.input(i));
  return {sequenceOf(std::move(elements))};
}

/// A position in [0, size), counted from the end if it is negative.
static size_t position(HostCall &c, size_t input, int64_t size) {
  int64_t given = c.integer(input), at = given < 0 ? given + size : given;
  if (at < 0 || at >= size)
    c.fail(ErrorKind::OutOfRange, c.nameOfInput(input) + ": position " + std::to_string(given) +
                                      " is outside a sequence of " + std::to_string(size));
  return static_cast<size_t>(at);
}

static Values sequenceInsert(HostCall &c) {
  Values elements = c.sequence(0);
  auto size = static_cast<int64_t>(elements.size());
  int64_t given = c.has(2) ? c.integer(2) : size, at = given < 0 ? given + size : given;
  if (at < 0 || at > size)
    c.fail(ErrorKind::OutOfRange, c.nameOfInput(2) + ": position " + std::to_string(given) +
                                      " is outside a sequence of " + std::to_string(size));
  elements.insert(elements.begin() + at, c.input(1));
  return {sequenceOf(std::move(elements))};
}

static Values sequenceErase(HostCall &c) {
  Values elements = c.sequence(0);
  auto size = static_cast<int64_t>(elements.size());
  if (size == 0)
    c.fail(ErrorKind::OutOfRange, c.nameOfInput(0) + ": expected an element to erase, got none");
  size_t at = c.has(1) ? position(c, 1, size) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<int64_t>(at));
  return {sequenceOf(std::move(elements))};
}

static Values sequenceAt(HostCall &c) {
  const Values &elements = c.sequence(0);
  return {elements[position(c, 1, static_cast<int64_t>(elements.size()))]};
}

static Values sequenceLength(HostCall &c) {
  return {scalarOf(static_cast<int64_t>(c.sequence(0).size()))};
}

static const Shape &tensorShape(HostCall &c, size_t input) {
  const Shape *shape = shapeOf(c.input(input));
  if (!shape)
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(input) + ": expected a tensor, got " + describe(c.input(input)));
  return *shape;
}

/// Without sizes one position each, whose axis goes unless it is kept; with one size parts of that
/// size, the last perhaps smaller; with a list parts of these sizes.
static Values splitToSequence(HostCall &c) {
  const Shape &shape = tensorShape(c, 0);
  int64_t axis = c.axis(c.node.getInt("axis", 0), static_cast<int64_t>(shape.size()));
  int64_t size = shape[axis];
  std::vector<int64_t> parts;
  bool keepsAxis = c.has(1) || c.node.getInt("keepdims", 1) != 0;
  if (!c.has(1)) {
    parts.assign(size, 1);
  } else if (c.tensor(1).shape().empty()) {
    int64_t part = c.integer(1);
    if (part <= 0)
      c.fail(ErrorKind::OutOfRange,
             c.nameOfInput(1) + ": expected a size of 1 or more, got " + std::to_string(part));
    for (int64_t at = 0; at < size; at += part)
      parts.push_back(std::min(part, size - at));
  } else {
    parts = c.integers(1);
  }
  Values elements;
  int64_t at = 0;
  for (int64_t part : parts) {
    if (part < 0 || part > size - at)
      c.fail(ErrorKind::OutOfRange, c.nameOfInput(1) + ": expected sizes whose sum is " +
                                        std::to_string(size) + ", got others");
    RuntimeValue element = slice(c.input(0), axis, at, part);
    elements.push_back(keepsAxis ? element : withoutAxis(element, axis));
    at += part;
  }
  if (at != size)
    c.fail(ErrorKind::OutOfRange, c.nameOfInput(1) + ": expected sizes whose sum is " +
                                      std::to_string(size) + ", got " + std::to_string(at));
  return {sequenceOf(std::move(elements))};
}

static Values concatFromSequence(HostCall &c) {
  Values elements = c.sequence(0);
  if (elements.empty())
    c.fail(ErrorKind::ShapeMismatch, c.nameOfInput(0) + ": expected an element or more, got none");
  bool isNew = c.node.getInt("new_axis", 0) != 0;
  if (!c.node.find("axis"))
    c.fail(ErrorKind::InvalidModel, "attribute 'axis' is missing");
  for (RuntimeValue &element : elements)
    if (!shapeOf(element))
      c.fail(ErrorKind::TypeMismatch,
             c.nameOfInput(0) + ": expected tensors, got " + describe(element));
  auto rank = static_cast<int64_t>(shapeOf(elements.front())->size()) + isNew;
  int64_t axis = c.axis(c.node.getInt("axis", 0), rank);
  if (isNew)
    for (RuntimeValue &element : elements) {
      if (static_cast<int64_t>(shapeOf(element)->size()) + 1 != rank)
        c.fail(ErrorKind::ShapeMismatch,
               c.nameOfInput(0) + ": expected tensors of one shape, got others");
      element = withAxis(element, axis);
    }
  std::optional<RuntimeValue> joined = concatenate(elements, axis);
  if (!joined)
    c.fail(ErrorKind::ShapeMismatch,
           c.nameOfInput(0) + ": expected tensors of one type and of equal sizes but along axis " +
               std::to_string(axis) + ", got others");
  return {*joined};
}

/// An optional that holds a value is that value.
static Values optional(HostCall &c) { return {c.has(0) ? c.input(0) : RuntimeValue()}; }

static Values optionalHasElement(HostCall &c) {
  return {scalarOf(c.has(0) && !c.input(0).isNothing())};
}

static Values optionalGetElement(HostCall &c) {
  if (c.input(0).isNothing())
    c.fail(ErrorKind::InvalidArgument, c.nameOfInput(0) + ": expected a value, got nothing");
  return {c.input(0)};
}

static Values identity(HostCall &c) { return {c.input(0)}; }

HostFamily sequenceOperators() {
  static const HostOperator table[] = {
      {"", "SequenceEmpty", 11, sequenceEmpty},
      {"", "SequenceConstruct", 11, sequenceConstruct},
      {"", "SequenceInsert", 11, sequenceInsert},
      {"", "SequenceErase", 11, sequenceErase},
      {"", "SequenceAt", 11, sequenceAt},
      {"", "SequenceLength", 11, sequenceLength},
      {"", "SplitToSequence", 11, splitToSequence},
      {"", "ConcatFromSequence", 11, concatFromSequence},
      {"", "Optional", 15, optional},
      {"", "OptionalHasElement", 15, optionalHasElement},
      {"", "OptionalGetElement", 15, optionalGetElement},
      {"", "Identity", 1, identity},
  };
  return table;
}

} // namespace headrace::operators
