// Operators that make lists of integers known at import from others: parts, joins, reductions.
#include "frontend/onnx/import/ShapeArithmetic.h"

using namespace mlir;

namespace headrace::onnx::shapes {

Known reshaped(NodeContext &c, const SymbolicShape &dims) {
  auto shape = constantShape(dims);
  const SymbolicValue &value = *c.known(0);
  if (!shape || headrace::elementCount(*shape) != static_cast<int64_t>(value.elements.size()))
    return std::nullopt;
  return SymbolicValue{value.dtype, *shape, value.elements};
}

Known expand(NodeContext &c) {
  auto target = constantShape(c.sizes(1).elements);
  if (!target)
    return std::nullopt;
  SymbolicValue ones{c.known(0)->dtype, *target,
                     SymbolicShape(headrace::elementCount(*target), c.dim(1))};
  SymbolicValue values[] = {*c.known(0), ones};
  if (!broadcastAll(c, values))
    return std::nullopt;
  return values[0];
}

/// Lists and scalars joined along the one axis.
Known concat(NodeContext &c) {
  SymbolicValue result = symbolicVector({});
  for (const SymbolicValue &value : allInputs(c)) {
    if (value.shape.size() != 1 || value.dtype != c.known(0)->dtype)
      return std::nullopt;
    result.elements.append(value.elements);
  }
  result.dtype = c.known(0)->dtype;
  result.shape = {static_cast<int64_t>(result.elements.size())};
  if (result.shape[0] > kMostKnownElements)
    return std::nullopt;
  return result;
}

Known gather(NodeContext &c) {
  const SymbolicValue &data = *c.known(0);
  auto indices = c.known(1)->constants();
  if (data.shape.size() != 1 || !indices || c.node.getInt("axis", 0) != 0)
    return std::nullopt;
  SymbolicValue result{data.dtype, c.known(1)->shape, {}};
  int64_t size = data.shape[0];
  for (int64_t index : *indices) {
    if (index < -size || index >= size)
      return std::nullopt;
    result.elements.push_back(data.elements[index < 0 ? index + size : index]);
  }
  return result;
}

static bool isFactor(int64_t number) { return number >= -kMostFactor && number <= kMostFactor; }

/// A list by constant bounds; anything else is left to the operator on data.
Known slice(NodeContext &c) {
  const SymbolicValue &data = *c.known(0);
  int64_t size = data.elements.size();
  auto starts = c.integersOf("starts", 1), ends = c.integersOf("ends", 2);
  auto axes = c.integersOf("axes", 3).value_or(std::vector<int64_t>{0});
  int64_t step = c.has(4) && !c.integers(4).empty() ? c.integers(4)[0] : 1;
  if (data.shape.size() != 1 || !starts || starts->size() != 1 || !ends || ends->size() != 1 ||
      axes.size() != 1 || (axes[0] != 0 && axes[0] != -1) || step == 0 || !isFactor(step))
    return std::nullopt;
  auto clamped = [&](int64_t at, int64_t low, int64_t high) {
    // Backwards over an empty list `high` lies below `low`, and holds.
    return std::min(std::max(at < 0 && at >= -size ? at + size : at, low), high);
  };
  bool forward = step > 0;
  int64_t start = clamped((*starts)[0], 0, forward ? size : size - 1);
  int64_t end = (*ends)[0] < -size
                    ? (forward ? 0 : -1)
                    : clamped((*ends)[0], forward ? 0 : -1, forward ? size : size - 1);
  SymbolicValue result{data.dtype, {}, {}};
  for (int64_t i = start; forward ? i < end : i > end; i += step)
    result.elements.push_back(data.elements[i]);
  result.shape = {static_cast<int64_t>(result.elements.size())};
  return result;
}

Known range(NodeContext &c) {
  auto start = c.known(0)->constants(), limit = c.known(1)->constants(),
       step = c.known(2)->constants();
  for (const auto *number : {&start, &limit, &step})
    if (!*number || (*number)->size() != 1 || !isFactor((*number)->front()))
      return std::nullopt;
  if (step->front() == 0)
    c.fail(ErrorKind::InvalidModel, "{0}: expected a step other than 0", c.nameOfInput(2));
  SymbolicValue result{c.known(0)->dtype, {}, {}};
  for (int64_t i = start->front(); step->front() > 0 ? i < limit->front() : i > limit->front();
       i += step->front()) {
    if (result.elements.size() == kMostKnownElements)
      return std::nullopt;
    result.elements.push_back(c.dim(i));
  }
  result.shape = {static_cast<int64_t>(result.elements.size())};
  return result;
}

/// All elements of a list combined.
static Known reduceAll(NodeContext &c, int64_t neutral, BinaryRule rule) {
  const SymbolicValue &value = *c.known(0);
  auto axes = c.integersOf("axes", 1).value_or(std::vector<int64_t>());
  bool none = axes.empty() && c.node.getInt("noop_with_empty_axes", 0) != 0;
  if (value.shape.size() != 1 || axes.size() > 1 || none || value.dtype == DType::Bool)
    return std::nullopt;
  AffineExpr total = c.dim(neutral);
  for (AffineExpr element : value.elements) {
    Element combined = rule(total, element);
    if (!combined || !isManageable(*combined, kMostTerm))
      return std::nullopt;
    total = *combined;
  }
  bool keep = c.node.getInt("keepdims", 1) != 0;
  return SymbolicValue{value.dtype, keep ? Shape{1} : Shape{}, {total}};
}

Known reduceProd(NodeContext &c) { return reduceAll(c, 1, product); }
Known reduceSum(NodeContext &c) { return reduceAll(c, 0, sum); }

} // namespace headrace::onnx::shapes
