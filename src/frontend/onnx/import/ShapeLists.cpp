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
  if (result.shape[0] > kMaxKnownElements)
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

static bool isFactor(int64_t number) { return number >= -kMaxFactor && number <= kMaxFactor; }

/// The positions that a slice takes along an axis.
static std::vector<int64_t> sliced(int64_t size, int64_t from, int64_t to, int64_t step) {
  auto clamped = [&](int64_t at, int64_t low, int64_t high) {
    // Backwards over an empty list `high` is below `low`, and holds.
    return std::min(std::max(at < 0 && at >= -size ? at + size : at, low), high);
  };
  bool forward = step > 0;
  int64_t start = clamped(from, 0, forward ? size : size - 1);
  int64_t end =
      to < -size ? (forward ? 0 : -1) : clamped(to, forward ? 0 : -1, forward ? size : size - 1);
  std::vector<int64_t> result;
  for (int64_t i = start; forward ? i < end : i > end; i += step)
    result.push_back(i);
  return result;
}

/// The elements at all combinations of positions, one list for each axis of the result; `axes` are
/// those of the data that they belong to.
static SymbolicValue picked(const SymbolicValue &data, ArrayRef<std::vector<int64_t>> positions,
                            ArrayRef<int64_t> axes) {
  std::vector<int64_t> strides(data.shape.size(), 1);
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * data.shape[i];
  SymbolicValue result{data.dtype, {}, {}};
  std::vector<int64_t> offsets = {0};
  for (auto [axis, list] : llvm::zip(axes, positions)) {
    result.shape.push_back(list.size());
    std::vector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t position : list)
        next.push_back(offset + position * strides[axis]);
    offsets = std::move(next);
  }
  for (int64_t offset : offsets)
    result.elements.push_back(data.elements[offset]);
  return result;
}

static std::vector<int64_t> upTo(int64_t size) {
  auto all = llvm::seq<int64_t>(0, size);
  return {all.begin(), all.end()};
}

/// Slices by constant bounds; anything else is left to the operator on data.
Known slice(NodeContext &c) {
  const SymbolicValue &data = *c.known(0);
  auto starts = c.integersOf("starts", 1), ends = c.integersOf("ends", 2);
  auto given = c.integersOf("axes", 3);
  if (!starts || !ends || starts->size() != ends->size() ||
      (given ? given->size() != starts->size() : starts->size() > data.shape.size()))
    return std::nullopt;
  auto axes = c.axes(given.value_or(upTo(starts->size())), data.shape.size());
  auto steps = c.has(4) ? c.integers(4) : std::vector<int64_t>(axes.size(), 1);
  if (steps.size() != axes.size())
    return std::nullopt;
  std::vector<std::vector<int64_t>> positions;
  for (int64_t size : data.shape)
    positions.push_back(upTo(size));
  for (auto [axis, start, end, step] : llvm::zip(axes, *starts, *ends, steps)) {
    if (step == 0 || !isFactor(step))
      return std::nullopt;
    positions[axis] = sliced(data.shape[axis], start, end, step);
  }
  return picked(data, positions, upTo(data.shape.size()));
}

Known transpose(NodeContext &c) {
  const SymbolicValue &data = *c.known(0);
  std::vector<int64_t> reversed = upTo(data.shape.size());
  std::reverse(reversed.begin(), reversed.end());
  std::vector<int64_t> order = c.node.getInts("perm", reversed), sorted = order;
  llvm::sort(sorted);
  if (sorted != upTo(data.shape.size()))
    return std::nullopt;
  std::vector<std::vector<int64_t>> positions;
  for (int64_t axis : order)
    positions.push_back(upTo(data.shape[axis]));
  return picked(data, positions, order);
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
    if (result.elements.size() == kMaxKnownElements)
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
    if (!combined || !isManageable(*combined, kMaxTerm))
      return std::nullopt;
    total = *combined;
  }
  bool keep = c.node.getInt("keepdims", 1) != 0;
  return SymbolicValue{value.dtype, keep ? Shape{1} : Shape{}, {total}};
}

Known reduceProd(NodeContext &c) { return reduceAll(c, 1, product); }
Known reduceSum(NodeContext &c) { return reduceAll(c, 0, sum); }

} // namespace headrace::onnx::shapes
