// Operators that take tensors apart and put them together.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <algorithm>

namespace headrace::aten {

static bool isNegative(Call &c, const Size &size) {
  auto number = known(size);
  return number ? *number < 0 : c.b.isNegative(size);
}

Size position(Call &c, const Size &index, const Size &size) {
  return isNegative(c, index) ? c.add(index, size) : index;
}

/// The start of a slice as Python has it; PyTorch's largest integer stands for the end.
static Size clamped(Call &c, const Value &given, const Size &size) {
  if (given.isNone())
    return int64_t{0};
  Size at = given.as<OpenSize>() ? Size(*given.as<OpenSize>()) : Size(*given.as<int64_t>());
  at = position(c, at, size);
  if (isNegative(c, at))
    return int64_t{0};
  auto number = known(at), most = known(size);
  if (number && (most ? *number > *most : *number > int64_t{1} << 40))
    return size;
  return at;
}

Size sliceStart(Call &c, Node x, int64_t axis, const Size &count) {
  if (known(count) == 0)
    return int64_t{0};
  Size size = c.b.shape(x).at(axis);
  // Of a dynamic dimension, the last elements: fewer if it does not have as many.
  const auto *given = c["start"].as<int64_t>();
  const auto *end = c["end"].as<int64_t>();
  bool toEnd = !end || *end > int64_t{1} << 40;
  if (given && *given < 0 && !known(size) && toEnd && c.integer("step", 1) == 1)
    return c.sub(size, count);
  return clamped(c, c["start"], size);
}

static Value slice(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x), 0);
  Size count = c.shape().at(axis);
  return c.part(x, axis, sliceStart(c, x, axis, count), count, c.integer("step", 1));
}

static Value select(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x));
  Size at = position(c, c.size("index"), c.b.shape(x).at(axis));
  return c.b.reshape(c.part(x, axis, at, int64_t{1}), c.shape());
}

static Value narrow(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x));
  Size start = position(c, c.size("start"), c.b.shape(x).at(axis));
  return c.part(x, axis, start, c.shape().at(axis));
}

/// Consecutive parts, with the sizes that the results have.
static Value split(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x), 0);
  Size start = int64_t{0};
  List parts;
  for (size_t i = 0; i < c.resultCount(); ++i) {
    Size size = c.result(i).sizes.at(axis);
    parts.push_back(c.part(x, axis, start, size));
    start = c.add(start, size);
  }
  return parts;
}

static Value unbind(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x), 0);
  List parts;
  for (size_t i = 0; i < c.resultCount(); ++i) {
    Node one = c.part(x, axis, static_cast<int64_t>(i), int64_t{1});
    parts.push_back(c.b.reshape(one, c.result(i).sizes));
  }
  return parts;
}

static Value flip(Call &c) {
  Node x = c.tensor("self");
  Sizes sizes = c.b.shape(x), starts(sizes.size(), int64_t{0});
  Integers steps(sizes.size(), 1);
  Integers axes = c.integers("dims");
  for (int64_t axis : axes) {
    axis = c.checkedAxis(axis, c.rank(x));
    starts.at(axis) = c.sub(sizes[axis], int64_t{1});
    steps[axis] = -1;
  }
  return c.b.slice(x, starts, sizes, steps);
}

static Value cat(Call &c) {
  // PyTorch concatenates an empty vector with anything.
  std::vector<Node> parts = c.tensors("tensors"), kept;
  for (Node each : parts) {
    Sizes sizes = c.b.shape(each);
    if (!(sizes.size() == 1 && known(sizes[0]) == 0))
      kept.push_back(c.b.cast(each, c.type()));
  }
  if (kept.empty())
    return c.b.cast(parts.front(), c.type());
  return c.b.concat(kept, c.axis("dim", c.rank(kept.front()), 0));
}

static Value stack(Call &c) {
  std::vector<Node> parts = c.tensors("tensors");
  int64_t axis = c.axis("dim", c.rank(parts.front()) + 1, 0);
  for (Node &each : parts)
    each = c.unsqueeze(c.b.cast(each, c.type()), {axis});
  return c.b.concat(parts, axis);
}

/// Pads of the last dimension come first; a negative one cuts.
static Node padded(Call &c, Node x, const Integers &pads, double value) {
  int64_t rank = c.rank(x);
  c.require(pads.size() / 2 <= static_cast<size_t>(rank), "at most two pads for each dimension");
  Integers low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    low[rank - 1 - i] = pads[2 * i];
    high[rank - 1 - i] = pads[2 * i + 1];
  }
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t cutLow = std::max(-low[axis], int64_t{0}), cutHigh = std::max(-high[axis], int64_t{0});
    if (cutLow || cutHigh)
      x = c.part(x, axis, cutLow, c.sub(c.b.shape(x).at(axis), cutLow + cutHigh));
    low[axis] = std::max(low[axis], int64_t{0});
    high[axis] = std::max(high[axis], int64_t{0});
  }
  bool any = std::ranges::any_of(low, [](auto n) { return n > 0; }) ||
             std::ranges::any_of(high, [](auto n) { return n > 0; });
  return any ? c.b.pad(x, low, high, value) : x;
}

/// The element of a dimension that is at each place of it and its padding: as in a mirror at both
/// ends, that of the end, or from the start again.
static Node paddedPlaces(Call &c, const Size &size, int64_t low, int64_t high,
                         const std::string &mode) {
  Node place = c.map("sub", {c.iota(c.add(size, low + high)), low});
  Node last = c.b.sizeAsData(c.sub(size, int64_t{1}), DType::I64);
  if (mode == "reflect") {
    Node fromLast = c.map("sub", {last, c.map("abs", {place})});
    return c.map("sub", {last, c.map("abs", {fromLast})});
  }
  if (mode == "replicate")
    return c.map("min", {c.map("max", {place, 0}), last});
  return c.map("modulo", {place, c.b.sizeAsData(size, DType::I64)});
}

static Node paddedByIndex(Call &c, Node x, const Integers &pads, const std::string &mode) {
  int64_t rank = c.rank(x);
  c.require(pads.size() / 2 <= static_cast<size_t>(rank), "at most two pads for each dimension");
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    int64_t axis = rank - 1 - static_cast<int64_t>(i);
    Node places = paddedPlaces(c, c.b.shape(x).at(axis), pads[2 * i], pads[2 * i + 1], mode);
    x = c.b.gather(x, places, axis, false);
  }
  return x;
}

/// Differences of neighbors along a dimension.
static Value difference(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x), -1);
  std::vector<Node> parts;
  for (const char *name : {"prepend", "self", "append"})
    if (auto each = c.optionalTensor(name))
      parts.push_back(*each);
  Node whole = c.b.concat(parts, axis);
  for (int64_t i = 0; i < c.integer("n", 1); ++i) {
    Size rest = c.sub(c.b.shape(whole).at(axis), int64_t{1});
    Node next = c.part(whole, axis, int64_t{1}, rest), now = c.part(whole, axis, int64_t{0}, rest);
    whole = c.map(c.type() == DType::Bool ? "not_equal" : "sub", {next, now});
  }
  return whole;
}

static Value pad(Call &c) {
  std::string mode = c.text("mode", "constant");
  Node x = c.tensor("self");
  if (mode == "constant")
    return padded(c, x, c.integers("pad"), c.number("value", 0));
  return paddedByIndex(c, x, c.integers("pad"), mode);
}

static Write padBy(const std::string &mode) {
  return [mode](Call &c) -> Value {
    return paddedByIndex(c, c.tensor("self"), c.integers("padding"), mode);
  };
}

static Value roll(Call &c) {
  Node x = c.tensor("self");
  Integers shifts = c.integers("shifts"), axes = c.integers("dims");
  bool isFlat = axes.empty();
  Node y = isFlat ? c.flat(x) : x;
  for (size_t i = 0; i < shifts.size(); ++i) {
    int64_t axis = isFlat ? 0 : c.checkedAxis(axes.at(i), c.rank(x));
    Size size = c.b.shape(y).at(axis);
    auto number = known(size);
    int64_t shift = shifts[i];
    if (number)
      shift = *number ? ((shift % *number) + *number) % *number : 0;
    if (shift == 0)
      continue;
    Size first = shift > 0 ? c.sub(size, shift) : Size(-shift);
    Node tail = c.part(y, axis, first, c.sub(size, first));
    y = c.b.concat({tail, c.part(y, axis, int64_t{0}, first)}, axis);
  }
  return c.b.reshape(y, c.shape());
}

Operators movementOperators() {
  Operators table{
      {"slice.Tensor", slice},  {"slice_copy.Tensor", slice},
      {"select.int", select},   {"select_copy.int", select},
      {"narrow", narrow},       {"narrow_copy", narrow},
      {"unbind.int", unbind},   {"unbind_copy.int", unbind},
      {"flip", flip},           {"cat", cat},
      {"concat", cat},          {"stack", stack},
      {"constant_pad_nd", pad}, {"pad", pad},
      {"roll", roll},           {"diff", difference},
  };
  for (const char *name : {"split.Tensor", "split.sizes", "split_with_sizes", "unsafe_split",
                           "unsafe_split_with_sizes", "chunk", "split_copy.Tensor",
                           "split_with_sizes_copy", "tensor_split", "unsafe_chunk"})
    table.push_back({name, split});
  for (const char *rank : {"1d", "2d", "3d"}) {
    table.push_back({std::string("reflection_pad") + rank, padBy("reflect")});
    table.push_back({std::string("replication_pad") + rank, padBy("replicate")});
  }
  return table;
}

} // namespace headrace::aten
