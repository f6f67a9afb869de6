// Operators that pick and place elements by index. All of them are gathers and scatters of rows: an
// index along several dimensions becomes one position along the dimension that they make together.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace headrace::aten {

Node wrapped(Call &c, Node index, const Size &size) {
  index = c.b.cast(c.b.checkedIndices(index, size, true), DType::I64);
  Node fromEnd = c.map("add", {index, c.b.sizeAsData(size, DType::I64)});
  return c.select(c.map("less", {index, 0}), fromEnd, index, DType::I64);
}

/// Positions along one dimension that stands for several.
static Node joined(Call &c, const std::vector<Node> &indices, const Sizes &sizes) {
  Node total = indices[0];
  for (size_t i = 1; i < indices.size(); ++i)
    total = c.map("add", {c.map("mul", {total, c.b.sizeAsData(sizes[i], DType::I64)}), indices[i]});
  return total;
}

Node along(Call &c, Node index, int64_t axis, const Sizes &sizes) {
  Sizes shape = c.b.shape(index);
  c.require(!shape.empty() && shape.size() == sizes.size(),
            "an index with as many dimensions as the tensor");
  std::vector<Node> indices;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (static_cast<int64_t>(dim) == axis) {
      indices.push_back(c.b.cast(c.b.checkedIndices(index, sizes[dim], false), DType::I64));
      continue;
    }
    Sizes ones(shape.size(), int64_t{1});
    ones[dim] = shape[dim];
    indices.push_back(c.b.reshape(c.iota(shape[dim]), ones));
  }
  return c.b.broadcast(joined(c, indices, sizes), shape);
}

Node takenAt(Call &c, Node x, Node positions, int64_t axis) {
  return c.b.gather(c.flat(x), along(c, positions, axis, c.b.shape(x)), 0, false);
}

Node scatterRows(Call &c, Node rows, Node indices, Node data, const std::string &kind) {
  DType type = c.type(data);
  if (!kind.empty()) {
    if (type == DType::Bool)
      rows = c.b.cast(rows, DType::I32), data = c.b.cast(data, DType::I32);
    rows = c.widened(rows), data = c.widened(data);
  }
  return c.b.cast(c.b.scatter(rows, indices, data, kind), type);
}

Node put(Call &c, Node updates, Node positions, Node x, const std::string &kind) {
  Size count = c.product(c.b.shape(positions));
  Sizes shape = c.b.shape(x);
  Node rows = c.b.reshape(updates, {int64_t{1}, count, int64_t{1}});
  Node data = c.b.reshape(x, {int64_t{1}, c.product(shape), int64_t{1}});
  Node placed = scatterRows(c, rows, c.b.reshape(positions, {count}), data, kind);
  return c.b.reshape(placed, shape);
}

//===--------------------------------------------------------------------------===//
// Along one dimension
//===--------------------------------------------------------------------------===//

static Value gathered(Call &c, Node x, Node index) {
  if (c.rank(x) == 0 || c.rank(index) == 0)
    return c.b.broadcast(c.b.reshape(x, {}), c.shape());
  return c.b.gather(c.flat(x), along(c, index, c.axis("dim", c.rank(x)), c.b.shape(x)), 0, false);
}

static Value gather(Call &c) { return gathered(c, c.tensor("self"), c.tensor("index")); }

static Value takeAlong(Call &c) {
  if (c.has("dim"))
    return gathered(c, c.tensor("self"), c.tensor("indices"));
  return c.b.gather(c.flat(c.tensor("self")), c.flat(c.tensor("indices")), 0, true);
}

static std::string reductionKind(const std::string &name) {
  static const std::map<std::string, std::string> kinds{
      {"", ""},        {"sum", "sum"}, {"add", "sum"}, {"prod", "prod"}, {"multiply", "prod"},
      {"amax", "max"}, {"amin", "min"}};
  return kinds.at(name);
}

static Node scattered(Call &c, Node x, const Value &source, const std::string &kind) {
  Node index = c.tensor("index");
  Sizes shape = c.b.shape(x);
  int64_t axis = c.axis("dim", std::max(c.rank(x), int64_t{1}));
  auto atLeastVector = [&](Node each) {
    return c.rank(each) ? each : c.b.reshape(each, {int64_t{1}});
  };
  x = atLeastVector(x), index = atLeastVector(index);
  Sizes count = c.b.shape(index);
  Node updates = source.as<Node>()
                     ? c.b.slice(atLeastVector(c.typed(source, c.type())),
                                 Sizes(count.size(), int64_t{0}), count, Integers(count.size(), 1))
                     : c.full(source, c.type(), count);
  Node positions = along(c, index, axis, c.b.shape(x));
  return c.b.reshape(put(c, updates, positions, x, kind), shape);
}

static Value scatter(Call &c) {
  std::string kind = c.name == "scatter_add" ? "sum" : reductionKind(c.text("reduce", ""));
  return scattered(c, c.tensor("self"), c.has("src") ? c["src"] : c["value"], kind);
}

/// The value that changes nothing.
static Value neutral(const std::string &reduce, DType type) {
  if (reduce == "prod")
    return 1;
  if (reduce != "amax" && reduce != "amin")
    return 0;
  bool isLeast = reduce == "amax";
  if (isFloat(type))
    return (isLeast ? -1 : 1) * std::numeric_limits<double>::infinity();
  if (type == DType::Bool)
    return !isLeast;
  int64_t most = std::numeric_limits<int64_t>::max() >> (64 - 8 * sizeOf(type));
  return isLeast ? -most - 1 : most;
}

static Node mean(Call &c, Node total, Node number) {
  return c.map(isFloat(c.type()) ? "div" : "floor_divide", {total, c.map("max", {number, 1})});
}

static Value scatterReduce(Call &c) {
  Node x = c.tensor("self");
  std::string reduce = c.text("reduce", "sum");
  bool includesSelf = c.flag("include_self", true), isMean = reduce == "mean";
  if (!includesSelf)
    x = scattered(c, x, neutral(reduce, c.type()), "");
  Node total = scattered(c, x, c["src"], isMean ? "sum" : reductionKind(reduce));
  if (!isMean)
    return total;
  Node start = c.full(includesSelf ? 1 : 0, c.type(), c.b.shape(x));
  Node number = scattered(c, start, c.full(1, c.type(), c.b.shape(c.tensor("src"))), "sum");
  return mean(c, total, number);
}

/// Whole rows along a dimension: added, otherwise combined, or instead of those of the tensor.
static Value indexRows(Call &c) {
  Node x = c.tensor("self");
  Sizes shape = c.b.shape(x);
  if (shape.empty())
    x = c.b.reshape(x, {int64_t{1}}), shape = {int64_t{1}};
  int64_t axis = c.axis("dim", static_cast<int64_t>(shape.size()));
  Size outer = c.product(shape.first(axis));
  Size inner = c.product(shape.from(axis + 1));
  Node index = c.flat(c.tensor("index"));
  Sizes rows{outer, c.b.shape(index).at(0), inner};
  const Sizes ones(3, int64_t{1});
  Node updates = c.name == "index_fill"
                     ? c.b.broadcast(c.b.reshape(c.typed(c["value"], c.type()), ones), rows)
                     : c.b.reshape(c.typed(c["source"], c.type()), rows);
  if (c.has("alpha") && numberIn(c["alpha"]) != 1.0)
    updates = c.map("mul", {updates, c["alpha"]});
  Node data = c.b.reshape(x, {outer, shape[axis], inner});
  Node at = wrapped(c, index, shape[axis]);
  auto combined = [&](Node each, Node start, const std::string &kind) {
    return scatterRows(c, each, at, start, kind);
  };
  if (c.name != "index_reduce") {
    std::string kind = c.name == "index_add" ? "sum" : "";
    return c.b.reshape(combined(updates, data, kind), c.shape());
  }
  std::string reduce = c.text("reduce", "");
  bool includesSelf = c.flag("include_self", true), isMean = reduce == "mean";
  if (!includesSelf)
    data = combined(c.full(neutral(reduce, c.type()), c.type(), rows), data, "");
  Node total = combined(updates, data, isMean ? "sum" : reductionKind(reduce));
  if (isMean) {
    Node start = c.full(includesSelf ? 1 : 0, c.type(), c.b.shape(data));
    Node number = combined(c.full(1, c.type(), rows), start, "sum");
    total = mean(c, total, number);
  }
  return c.b.reshape(total, c.shape());
}

static Value indexSelect(Call &c) {
  Node x = c.tensor("self"), index = c.tensor("index");
  if (c.rank(x) == 0)
    return c.b.reshape(x, c.shape());
  if (c.rank(index) == 0)
    index = c.b.reshape(index, {int64_t{1}});
  return c.b.gather(x, index, c.axis("dim", c.rank(x)), false);
}

static Value embedding(Call &c) {
  Node table = c.tensor("weight"), indices = c.tensor("indices");
  Node rows = c.b.gather(table, indices, 0, false);
  if (!c.differentiates)
    return rows;
  for (const char *option : {"scale_grad_by_freq", "sparse"})
    if (c.flag(option, false))
      c.unsupported(std::string("a gradient of embedding with ") + option);
  int64_t padding = c.integer("padding_idx", -1);
  if (padding < 0)
    return rows;
  Node padded = c.unsqueeze(c.map("equal", {indices, padding}), {c.rank(indices)});
  return c.select(padded, c.b.detach(rows), rows, c.type());
}

static Value putElements(Call &c) {
  Node x = c.tensor("self");
  Node at = c.flat(wrapped(c, c.tensor("index"), c.product(c.b.shape(x))));
  return put(c, c.tensor("source"), at, x, c.flag("accumulate", false) ? "sum" : "");
}

static Value take(Call &c) {
  return c.b.gather(c.flat(c.tensor("self")), c.tensor("index"), 0, true);
}

//===--------------------------------------------------------------------------===//
// By several tensors
//===--------------------------------------------------------------------------===//

namespace {
/// The dimensions that indices are given for, as one, between others: [outer, rows, inner].
struct Picked {
  Node x;
  Integers order; // of the dimensions, as they are in `x`
  Sizes outer;
  Size rows;
  Sizes inner;
  Node positions; // of any rank
};
} // namespace

static std::vector<std::optional<Node>> indicesOf(Call &c) {
  std::vector<std::optional<Node>> found;
  if (const auto *list = c["indices"].as<List>())
    for (const Value &each : *list)
      found.push_back(each.as<Node>() ? std::optional(*each.as<Node>()) : std::nullopt);
  return found;
}

static bool isMask(Call &c, Node index) {
  return c.type(index) == DType::Bool || c.type(index) == DType::U8;
}

static Integers given(const std::vector<std::optional<Node>> &indices) {
  Integers found;
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i])
      found.push_back(static_cast<int64_t>(i));
  return found;
}

static Picked picked(Call &c, Node x, const std::vector<std::optional<Node>> &indices) {
  Integers at = given(indices), order;
  if (at.empty())
    c.unsupported("indexing without indices");
  for (int64_t i : at)
    if (isMask(c, *indices[i]))
      c.unsupported("indexing by masks");
  Sizes shape = c.b.shape(x);
  c.require(at.back() < c.rank(x), "at most as many indices as dimensions");
  bool isAdjacent = at.back() - at.front() + 1 == static_cast<int64_t>(at.size());
  int64_t first = isAdjacent ? at.front() : 0;
  Integers others;
  for (int64_t i = 0; i < c.rank(x); ++i)
    if (!std::ranges::count(at, i))
      others.push_back(i);
  order.assign(others.begin(), others.begin() + first);
  order.insert(order.end(), at.begin(), at.end());
  order.insert(order.end(), others.begin() + first, others.end());
  if (!std::ranges::is_sorted(order))
    x = c.b.transpose(x, order);
  Sizes sizes, outer, inner;
  std::vector<Node> tensors;
  for (int64_t i : at) {
    sizes.push_back(shape[i]);
    tensors.push_back(wrapped(c, *indices[i], shape[i]));
  }
  for (int64_t i = 0; i < static_cast<int64_t>(others.size()); ++i)
    (i < first ? outer : inner).push_back(shape[others[i]]);
  return {x, order, outer, c.product(sizes), inner, joined(c, tensors, sizes)};
}

static Sizes concatenated(std::initializer_list<Sizes> lists) {
  Sizes all;
  for (const Sizes &each : lists)
    all.insert(all.end(), each.begin(), each.end());
  return all;
}

static Value index(Call &c) {
  Node x = c.tensor("self");
  auto indices = indicesOf(c);
  Integers at = given(indices);
  if (at.size() == 1 && !isMask(c, *indices[at[0]]))
    return c.b.gather(x, *indices[at[0]], c.checkedAxis(at[0], c.rank(x)), true);
  Picked p = picked(c, x, indices);
  Node rows = c.b.reshape(p.x, concatenated({p.outer, {p.rows}, p.inner}));
  Node taken = c.b.gather(rows, p.positions, static_cast<int64_t>(p.outer.size()), false);
  return c.b.reshape(taken, c.shape());
}

/// Values that are the same for every place of the mask.
static Value maskedPut(Call &c, Node x, Node mask, int64_t axis) {
  Node values = c.b.cast(c.tensor("values"), c.type());
  int64_t behind = c.rank(x) - axis - c.rank(mask);
  c.require(behind >= 0, "a mask with at most as many dimensions as the tensor");
  if (c.rank(values) > behind && known(c.product(c.b.shape(values))) != 1)
    c.unsupported("one value for each place of a mask");
  if (c.rank(values) > behind)
    values = c.b.reshape(values, {});
  Sizes sizes = c.b.shape(mask);
  sizes.insert(sizes.end(), behind, Size(int64_t{1}));
  if (c.flag("accumulate", false))
    values = c.map("add", {x, values});
  return c.select(c.b.reshape(mask, sizes), values, x, c.type());
}

static Value indexPut(Call &c) {
  Node x = c.tensor("self");
  auto indices = indicesOf(c);
  Integers places = given(indices);
  if (places.size() == 1 && c.type(*indices[places[0]]) == DType::Bool)
    return maskedPut(c, x, *indices[places[0]], places[0]);
  Picked p = picked(c, x, indices);
  Sizes at = c.b.shape(p.positions);
  Node updates =
      c.b.broadcast(c.typed(c["values"], c.type()), concatenated({p.outer, at, p.inner}));
  Size count = c.product(at), outer = c.product(p.outer), inner = c.product(p.inner);
  Node rows = c.b.reshape(updates, {outer, count, inner});
  Node data = c.b.reshape(p.x, {outer, p.rows, inner});
  Node placed = scatterRows(c, rows, c.b.reshape(p.positions, {count}), data,
                            c.flag("accumulate", false) ? "sum" : "");
  placed = c.b.reshape(placed, c.b.shape(p.x));
  if (std::ranges::is_sorted(p.order))
    return placed;
  Integers back(p.order.size());
  for (size_t i = 0; i < back.size(); ++i)
    back[p.order[i]] = static_cast<int64_t>(i);
  return c.b.transpose(placed, back);
}

/// The k-th place of the mask gets the k-th element.
static Value maskedScatter(Call &c) {
  Node x = c.tensor("self"), mask = c.tensor("mask");
  Node places = c.flat(c.b.broadcast(mask, c.shape()));
  Node number = c.b.scan("sum", c.b.cast(places, DType::I64), 0, true, false);
  Node elements = c.flat(c.tensor("source"));
  Size count = c.b.shape(elements).at(0);
  if (known(count) == 0)
    return c.b.broadcast(x, c.shape());
  // Beyond the mask's last place there is nothing to read.
  Node last = c.b.sizeAsData(c.sub(count, int64_t{1}), DType::I64);
  Node read = c.select(places, number, c.map("min", {number, last}), DType::I64);
  Node taken = c.b.reshape(c.b.gather(elements, read, 0, false), c.shape());
  return c.select(mask, taken, x, c.type());
}

//===--------------------------------------------------------------------------===//
// Bags of embeddings
//===--------------------------------------------------------------------------===//

/// Rows of a table, combined for each bag: a bag ends where the next one starts.
static Value embeddingBag(Call &c) {
  Node table = c.tensor("weight"), indices = c.tensor("indices"), offsets = c.tensor("offsets");
  int64_t mode = c.integer("mode", 0), padding = c.integer("padding_idx", -1);
  if (c.differentiates &&
      (c.flag("scale_grad_by_freq", false) || c.flag("sparse", false) || mode == 2))
    c.unsupported("a gradient of embedding_bag with these options");
  DType type = c.type(table);
  Size count = c.b.shape(indices).at(0), bags = c.b.shape(offsets).at(0);
  Node rows = c.b.gather(table, indices, 0, false);
  Node place = c.b.reshape(c.iota(count), {count, int64_t{1}});
  Node starts = c.b.reshape(c.b.cast(offsets, DType::I64), {int64_t{1}, bags});
  Node begun = c.b.cast(c.mapAs(DType::I64, "less_equal", {starts, place}), DType::I64);
  Node bag = c.map("sub", {c.b.reduce("sum", begun, {1}, false), 1});
  Node used = c.full(1, type, {count});
  if (padding >= 0)
    used = c.b.cast(c.map("not_equal", {indices, padding}), type);
  Node factor = used;
  if (auto weights = c.optionalTensor("per_sample_weights"))
    factor = c.mapAs(type, "mul", {used, *weights});
  Size width = c.b.shape(table).at(1), wanted = c.shape().at(0);
  auto combined = [&](Node each, double start, const std::string &kind, const Size &columns) {
    Node data = c.full(start, type, {int64_t{1}, wanted, columns});
    return scatterRows(c, c.unsqueeze(each, {0}), bag, data, kind);
  };
  if (mode == 2) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Node isUsed = c.unsqueeze(c.map("greater", {used, 0}), {1});
    Node most = combined(c.select(isUsed, rows, -infinity, type), -infinity, "max", width);
    Node result = c.select(c.map("equal", {most, -infinity}), 0, most, type);
    return List{c.b.reshape(result, c.shape()), {}, {}, {}};
  }
  rows = c.map("mul", {rows, c.unsqueeze(factor, {1})});
  Node total = c.b.reshape(combined(rows, 0, "sum", width), c.shape());
  if (mode == 1) {
    Node number = combined(c.unsqueeze(used, {1}), 0, "sum", int64_t{1});
    number = c.b.reshape(c.map("max", {number, 1}), {wanted, int64_t{1}});
    total = c.map("div", {total, number});
  }
  return List{total, {}, {}, {}};
}

Operators indexingOperators() {
  return {
      {"gather", gather},
      {"take_along_dim", takeAlong},
      {"scatter.src", scatter},
      {"scatter.value", scatter},
      {"scatter.reduce", scatter},
      {"scatter.value_reduce", scatter},
      {"scatter_add", scatter},
      {"scatter_reduce.two", scatterReduce},
      {"index_add", indexRows},
      {"index_copy", indexRows},
      {"index_fill.int_Scalar", indexRows},
      {"index_fill.int_Tensor", indexRows},
      {"index_reduce", indexRows},
      {"index_select", indexSelect},
      {"index.Tensor", index},
      {"_unsafe_index.Tensor", index},
      {"index_put", indexPut},
      {"_unsafe_index_put", indexPut},
      {"masked_scatter", maskedScatter},
      {"put", putElements},
      {"take", take},
      {"embedding", embedding},
      {"_embedding_bag", embeddingBag},
      {"_embedding_bag_forward_only", embeddingBag},
  };
}

} // namespace headrace::aten
