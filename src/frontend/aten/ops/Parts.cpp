// Operators that replace parts of a tensor, and those that view diagonals and windows.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <algorithm>

namespace headrace::aten {

/// The source instead of every `step`-th part of the tensor along a dimension.
static Node placedAlong(Call &c, Node x, Node source, int64_t axis, const Size &start,
                        int64_t step) {
  Sizes shape = c.b.shape(x);
  source = c.b.cast(source, c.type());
  Size count = c.b.shape(source).at(axis);
  if (step == 1) {
    Size end = c.add(start, count);
    std::vector<Node> pieces;
    for (Node each : {c.part(x, axis, int64_t{0}, start), source,
                      c.part(x, axis, end, c.sub(shape[axis], end))})
      if (known(c.b.shape(each).at(axis)) != 0)
        pieces.push_back(each);
    return pieces.empty() ? x : c.b.concat(pieces, axis);
  }
  if (!known(shape[axis]) || !known(count) || !known(start))
    c.unsupported("a slice with steps of a dynamic dimension that is changed");
  Integers at;
  for (int64_t i = 0; i < *known(count); ++i)
    at.push_back(*known(start) + step * i);
  Size outer = c.product(shape.first(axis));
  Size inner = c.product(shape.from(axis + 1));
  Node rows = c.b.reshape(source, {outer, count, inner});
  Node data = c.b.reshape(x, {outer, shape[axis], inner});
  Node places = c.integers(at, {*known(count)});
  return c.b.reshape(scatterRows(c, rows, places, data, ""), shape);
}

static Value sliceScatter(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x), 0);
  Node source = c.tensor("src");
  Size start = sliceStart(c, x, axis, c.b.shape(source).at(axis));
  return placedAlong(c, x, source, axis, start, c.integer("step", 1));
}

static Value selectScatter(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x));
  Sizes shape = c.b.shape(x);
  Size start = position(c, c.size("index"), shape[axis]);
  shape[axis] = int64_t{1};
  return placedAlong(c, x, c.b.reshape(c.tensor("src"), shape), axis, start, 1);
}

//===--------------------------------------------------------------------------===//
// Diagonals and windows
//===--------------------------------------------------------------------------===//

/// The positions of a diagonal's elements in the tensor seen as a vector, in the result's order.
static Node diagonalPositions(Call &c, Node x) {
  int64_t rank = c.rank(x);
  Integers sizes = c.fixed(c.b.shape(x), "a diagonal");
  int64_t first = c.axis("dim1", rank, 0), second = c.axis("dim2", rank, 1);
  int64_t offset = c.integer("offset", 0);
  Integers strides(rank, 1);
  for (int64_t i = rank - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * sizes[i + 1];
  int64_t row = std::max(-offset, int64_t{0}), column = std::max(offset, int64_t{0});
  int64_t count = std::max(std::min(sizes[first] - row, sizes[second] - column), int64_t{0});
  Integers at{row * strides[first] + column * strides[second]}, shape;
  auto spread = [&](int64_t size, int64_t stride) {
    Integers wider;
    for (int64_t start : at)
      for (int64_t i = 0; i < size; ++i)
        wider.push_back(start + i * stride);
    at = wider;
    shape.push_back(size);
  };
  for (int64_t i = 0; i < rank; ++i)
    if (i != first && i != second)
      spread(sizes[i], strides[i]);
  spread(count, strides[first] + strides[second]);
  return c.integers(at, shape);
}

static Value diagonal(Call &c) {
  Node x = c.tensor("self");
  return c.b.gather(c.flat(x), diagonalPositions(c, x), 0, false);
}

static Value diagonalScatter(Call &c) {
  Node x = c.tensor("self");
  return put(c, c.typed(c["src"], c.type()), diagonalPositions(c, x), x);
}

/// Windows along a dimension, each as the last dimension.
static Value unfold(Call &c) {
  Node x = c.tensor("self");
  int64_t rank = c.rank(x);
  if (rank == 0)
    return c.b.reshape(x, c.shape());
  int64_t axis = c.axis("dimension", rank), size = c.integer("size"), step = c.integer("step");
  auto count = known(c.shape().at(axis));
  if (!count)
    c.unsupported("windows of a dynamic dimension");
  Integers at, order;
  for (int64_t i = 0; i < *count; ++i)
    for (int64_t j = 0; j < size; ++j)
      at.push_back(i * step + j);
  Node windows = c.b.gather(x, c.integers(at, {*count, size}), axis, false);
  for (int64_t i = 0; i <= rank; ++i)
    if (i != axis + 1)
      order.push_back(i);
  order.push_back(axis + 1);
  return c.b.transpose(windows, order);
}

Operators partOperators() {
  return {
      {"slice_scatter", sliceScatter},
      {"select_scatter", selectScatter},
      {"diagonal", diagonal},
      {"diagonal_copy", diagonal},
      {"diagonal_scatter", diagonalScatter},
      {"unfold", unfold},
      {"unfold_copy", unfold},
  };
}

} // namespace headrace::aten
