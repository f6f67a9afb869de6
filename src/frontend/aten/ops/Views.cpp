// Operators that say how the elements of a tensor are arranged.
#include "frontend/aten/Table.h"

#include <algorithm>
#include <numeric>

namespace headrace::aten {

static Value reshaped(Call &c) { return c.b.reshape(c.tensor("self"), c.shape()); }

static Integers ascending(int64_t rank) {
  Integers order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

static Value permute(Call &c) {
  Node x = c.tensor("self");
  Integers order = c.integers("dims");
  for (int64_t &each : order)
    each = c.checkedAxis(each, c.rank(x));
  c.require(static_cast<int64_t>(order.size()) == c.rank(x), "every dimension once");
  return c.b.transpose(x, order);
}

static Value swapped(Call &c, const std::string &first, const std::string &second) {
  Node x = c.tensor("self");
  Integers order = ascending(c.rank(x));
  if (!order.empty())
    std::swap(order[c.axis(first, c.rank(x))], order[c.axis(second, c.rank(x))]);
  return c.b.transpose(x, order);
}

static Value reversed(Call &c) {
  Node x = c.tensor("self");
  Integers order = ascending(c.rank(x));
  std::ranges::reverse(order);
  return c.b.transpose(x, order);
}

static Value lastTwoSwapped(Call &c) {
  Node x = c.tensor("self");
  Integers order = ascending(c.rank(x));
  if (order.size() >= 2)
    std::swap(order[order.size() - 2], order.back());
  return c.b.transpose(x, order);
}

static Value moved(Call &c) {
  Node x = c.tensor("self");
  int64_t rank = c.rank(x);
  Integers from = c.integers("source"), to = c.integers("destination"), order(rank, -1), rest;
  if (rank == 0)
    return x;
  for (size_t i = 0; i < from.size(); ++i)
    order[c.checkedAxis(to.at(i), rank)] = c.checkedAxis(from[i], rank);
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!std::ranges::count(order, axis))
      rest.push_back(axis);
  auto next = rest.begin();
  for (int64_t &each : order)
    each = each < 0 ? *next++ : each;
  return c.b.transpose(x, order);
}

static Value expanded(Call &c) { return c.b.broadcast(c.tensor("self"), c.shape()); }

/// [a, b] -> [1, a, 1, b] -> [r0, a, r1, b] -> [r0 * a, r1 * b].
static Value repeated(Call &c) {
  Node x = c.tensor("self");
  Sizes times = c.sizes(c.name == "tile" ? "dims" : "repeats"), own = c.b.shape(x), apart, wide;
  while (times.size() < own.size())
    times.insert(times.begin(), int64_t{1});
  own.insert(own.begin(), times.size() - own.size(), Size(int64_t{1}));
  for (size_t i = 0; i < own.size(); ++i) {
    apart.insert(apart.end(), {int64_t{1}, own[i]});
    wide.insert(wide.end(), {times[i], own[i]});
  }
  return c.b.reshape(c.b.broadcast(c.b.reshape(x, apart), wide), c.shape());
}

/// [N, C r r, H, W] as [N, C, H r, W r].
static Value pixelShuffle(Call &c) {
  Node x = c.tensor("self");
  int64_t factor = c.integer("upscale_factor"), rank = c.rank(x);
  c.require(rank >= 3 && c.shape().size() == static_cast<size_t>(rank), "an image");
  Sizes sizes = c.b.shape(x), result = c.shape();
  Sizes apart(sizes.begin(), sizes.end() - 3);
  Integers order = ascending(rank - 3);
  apart.insert(apart.end(), {result[rank - 3], factor, factor, sizes[rank - 2], sizes[rank - 1]});
  for (int64_t each : {0, 3, 1, 4, 2})
    order.push_back(rank - 3 + each);
  return c.b.reshape(c.b.transpose(c.b.reshape(x, apart), order), result);
}

static Value pixelUnshuffle(Call &c) {
  Node x = c.tensor("self");
  int64_t factor = c.integer("downscale_factor"), rank = c.rank(x);
  c.require(rank >= 3 && c.shape().size() == static_cast<size_t>(rank), "an image");
  Sizes sizes = c.b.shape(x), result = c.shape();
  Sizes apart(sizes.begin(), sizes.end() - 2);
  Integers order = ascending(rank - 2);
  apart.insert(apart.end(), {result[rank - 2], factor, result[rank - 1], factor});
  for (int64_t each : {1, 3, 0, 2})
    order.push_back(rank - 2 + each);
  return c.b.reshape(c.b.transpose(c.b.reshape(x, apart), order), result);
}

static Value channelShuffle(Call &c) {
  Node x = c.tensor("self");
  Sizes apart = c.b.shape(x);
  int64_t groups = c.integer("groups");
  c.require(apart.size() >= 2, "an image");
  apart[1] = c.b.arithmetic("floordiv", apart[1], groups);
  apart.insert(apart.begin() + 1, groups);
  Integers order = ascending(static_cast<int64_t>(apart.size()));
  std::swap(order[1], order[2]);
  return c.b.reshape(c.b.transpose(c.b.reshape(x, apart), order), c.shape());
}

Operators viewOperators() {
  Operators table{
      {"permute", permute},
      {"permute_copy", permute},
      {"transpose.int", [](Call &c) { return swapped(c, "dim0", "dim1"); }},
      {"transpose_copy.int", [](Call &c) { return swapped(c, "dim0", "dim1"); }},
      {"swapaxes", [](Call &c) { return swapped(c, "axis0", "axis1"); }},
      {"swapdims", [](Call &c) { return swapped(c, "dim0", "dim1"); }},
      {"t", reversed},
      {"t_copy", reversed},
      {"numpy_T", reversed},
      {"mT", lastTwoSwapped},
      {"movedim", moved},
      {"moveaxis", moved},
      {"expand", expanded},
      {"expand_copy", expanded},
      {"expand_as", expanded},
      {"broadcast_to", expanded},
      {"repeat", repeated},
      {"tile", repeated},
      {"pixel_shuffle", pixelShuffle},
      {"pixel_unshuffle", pixelUnshuffle},
      {"channel_shuffle", channelShuffle},
      {"native_channel_shuffle", channelShuffle},
  };
  for (const char *name : {"view.default", "view_copy.default", "_unsafe_view", "reshape",
                           "_reshape_alias", "view_as", "reshape_as", "unsqueeze", "unsqueeze_copy",
                           "squeeze", "squeeze_copy", "flatten", "unflatten", "ravel"})
    table.push_back({name, reshaped});
  return table;
}

} // namespace headrace::aten
