// Tensors of strings under another shape.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"

#include <algorithm>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

/// The list in an input, or in an attribute in older versions; nothing if the node has neither.
static std::optional<std::vector<int64_t>> listOf(HostCall &c, size_t input, const char *name) {
  if (c.has(input))
    return c.integers(input);
  if (c.node.find(name))
    return c.node.getInts(name);
  return std::nullopt;
}

static Values reshape(HostCall &c) {
  const StringTensor &given = c.strings(0);
  auto count = static_cast<int64_t>(given.elements.size());
  std::vector<int64_t> sizes = listOf(c, 1, "shape").value_or(std::vector<int64_t>());
  bool keepsZero = c.node.getInt("allowzero", 0) != 0;
  auto refuse = [&] {
    c.fail(ErrorKind::ShapeMismatch, c.nameOfInput(0) + ": cannot reshape " + describe(c.input(0)) +
                                         " to " + shapeString(sizes));
  };
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == 0 && !keepsZero) {
      if (i >= given.shape.size())
        refuse();
      sizes[i] = given.shape[i];
    }
  auto open = std::find(sizes.begin(), sizes.end(), int64_t(-1));
  if (open != sizes.end()) {
    *open = 1;
    int64_t rest = elementCount(sizes);
    if (rest == 0 || count % rest != 0)
      refuse();
    *open = count / rest;
  }
  if (elementCount(sizes) != count)
    refuse();
  return {reshaped(c.input(0), sizes)};
}

static Values squeeze(HostCall &c) {
  const Shape &given = c.strings(0).shape;
  auto rank = static_cast<int64_t>(given.size());
  std::vector<bool> goes(rank, false);
  if (auto axes = listOf(c, 1, "axes")) {
    for (int64_t axis : *axes)
      goes[c.axis(axis, rank)] = true;
  } else {
    for (int64_t i = 0; i < rank; ++i)
      goes[i] = given[i] == 1;
  }
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    if (!goes[i])
      shape.push_back(given[i]);
    else if (given[i] != 1)
      c.fail(ErrorKind::ShapeMismatch, c.nameOfInput(0) + ": expected size 1 along axis " +
                                           std::to_string(i) + ", got " + describe(c.input(0)));
  }
  return {reshaped(c.input(0), shape)};
}

static Values unsqueeze(HostCall &c) {
  const Shape &given = c.strings(0).shape;
  std::vector<int64_t> axes = listOf(c, 1, "axes").value_or(std::vector<int64_t>());
  auto rank = static_cast<int64_t>(given.size() + axes.size());
  for (int64_t &axis : axes)
    axis = c.axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    c.fail(ErrorKind::InvalidModel, "expected axes that differ, got one twice");
  Shape shape = given;
  for (int64_t axis : axes)
    shape.insert(shape.begin() + axis, 1);
  return {reshaped(c.input(0), shape)};
}

/// A table: the axes before one are its rows, all others its columns.
static Values flatten(HostCall &c) {
  const Shape &given = c.strings(0).shape;
  auto rank = static_cast<int64_t>(given.size());
  int64_t axis = c.node.getInt("axis", 1);
  axis = axis == rank ? rank : c.axis(axis, rank);
  int64_t rows = elementCount({given.begin(), given.begin() + axis});
  return {reshaped(c.input(0), {rows, elementCount({given.begin() + axis, given.end()})})};
}

HostFamily stringShapeOperators() {
  static const HostOperator table[] = {{"", "Reshape", 1, reshape},
                                       {"", "Flatten", 1, flatten},
                                       {"", "Squeeze", 1, squeeze},
                                       {"", "Unsqueeze", 1, unsqueeze}};
  return table;
}

} // namespace headrace::operators
