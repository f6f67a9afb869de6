#include "rewrite/accelerator/TermBuilder.h"

#include "rewrite/accelerator/HardwareOperators.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::rewrite {

namespace {

/// Dimensions of two shapes that hold the same elements, in either order of row-major.
struct Group {
  Shape from, to;
};

std::vector<Group> groupsOf(const Shape &from, const Shape &to) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    Group group{{from[i]}, {to[j]}};
    int64_t p = from[i++], q = to[j++];
    while (p != q) {
      if (p < q)
        p *= group.from.emplace_back(from[i++]);
      else
        q *= group.to.emplace_back(to[j++]);
    }
    groups.push_back(std::move(group));
  }
  // Nothing but ones is left on either side.
  groups.back().from.insert(groups.back().from.end(), from.begin() + static_cast<ptrdiff_t>(i),
                            from.end());
  groups.back().to.insert(groups.back().to.end(), to.begin() + static_cast<ptrdiff_t>(j), to.end());
  return groups;
}

} // namespace

ShapedTerm TermBuilder::input(std::string_view name, const Shape &shape) {
  Vocabulary &vocabulary = terms.vocabulary();
  std::vector<Attribute> attributes = {Attribute::name(vocabulary.name(name))};
  for (int64_t size : shape)
    attributes.push_back(Attribute::number(size));
  return {terms.add(vocabulary.op("tensor", std::move(attributes))), shape};
}

static ShapedTerm added(Terms &terms, OperatorId op, const std::vector<ShapedTerm> &operands) {
  std::vector<TermId> ids;
  std::vector<Shape> shapes;
  for (const ShapedTerm &operand : operands) {
    ids.push_back(operand.id);
    shapes.push_back(operand.shape);
  }
  const Vocabulary &vocabulary = terms.vocabulary();
  ShapeResult result = allOperators().shapeOf(vocabulary[op], vocabulary, shapes);
  if (!result.shape)
    throw Error(ErrorKind::InvalidArgument, vocabulary.print(op) + ": " + result.reason);
  return {terms.add(op, std::move(ids)), *result.shape};
}

ShapedTerm TermBuilder::apply(std::string_view op, std::vector<int64_t> numbers,
                              const std::vector<ShapedTerm> &operands) {
  std::vector<Attribute> attributes;
  for (int64_t number : numbers)
    attributes.push_back(Attribute::number(number));
  return added(terms, terms.vocabulary().op(op, std::move(attributes)), operands);
}

ShapedTerm TermBuilder::function(std::string_view name, const std::vector<ShapedTerm> &operands) {
  Vocabulary &vocabulary = terms.vocabulary();
  return added(
      terms,
      vocabulary.op(operands.size() == 1 ? "map" : "zip", {Attribute::name(vocabulary.name(name))}),
      operands);
}

ShapedTerm TermBuilder::reduce(std::string_view function, int64_t axis, const ShapedTerm &x) {
  Vocabulary &vocabulary = terms.vocabulary();
  return added(terms,
               vocabulary.op("reduce",
                             {Attribute::name(vocabulary.name(function)), Attribute::number(axis)}),
               {x});
}

ShapedTerm TermBuilder::permuted(ShapedTerm x, std::vector<int64_t> order) {
  // Each dimension is exchanged with the one that stands where it belongs.
  std::vector<int64_t> at(order.size());
  for (size_t i = 0; i < at.size(); ++i)
    at[i] = static_cast<int64_t>(i);
  for (size_t i = 0; i < order.size(); ++i) {
    auto from = static_cast<size_t>(std::ranges::find(at, order[i]) - at.begin());
    if (from == i)
      continue;
    std::swap(at[i], at[from]);
    x = apply("transpose",
              {x.rank() - static_cast<int64_t>(from), x.rank() - static_cast<int64_t>(i)}, {x});
  }
  return x;
}

ShapedTerm TermBuilder::reshaped(ShapedTerm x, const Shape &shape) {
  if (x.shape == shape)
    return x;
  if (x.rank() == 0)
    return reshaped(apply("repeat", {1, 1}, {x}), shape);
  if (shape.empty())
    throw Error(ErrorKind::Unsupported, "no data movement makes a scalar of " + textOf(x.shape));
  std::vector<Group> groups = groupsOf(x.shape, shape);
  int64_t done = 0; // axes after the current group
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    bool isSame = group->from == group->to;
    for (size_t i = 1; i < group->from.size() && !isSame; ++i)
      x = apply("join", {done + 1}, {x});
    for (size_t i = group->to.size(); i-- > 1;) {
      if (!isSame)
        x = apply("split", {done + 1, group->to[i]}, {x});
      ++done;
    }
    ++done;
  }
  return x;
}

ShapedTerm TermBuilder::broadcast(ShapedTerm x, Shape from, const Shape &shape) {
  auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0) // a scalar, or one that is kept as an axis
    return x;
  if (from.size() > shape.size())
    from = {1};
  // Dimensions of one that are to be larger go first.
  std::vector<bool> has(shape.size());
  Shape kept;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t at = shape.size() - from.size() + i;
    has[at] = from[i] == shape[at];
    if (has[at])
      kept.push_back(from[i]);
  }
  bool isOne = kept.empty() && x.rank() > 0;
  if (isOne) { // an axis must stay: the last one is repeated by joining
    x = apply("join", {1}, {apply("repeat", {2, shape.back()}, {reshaped(x, {1})})});
    has.back() = true;
  } else {
    x = reshaped(x, kept);
  }
  for (int64_t axis = 1; axis <= rank; ++axis) {
    auto isMissing = [&](int64_t a) { return a <= rank && !has[static_cast<size_t>(rank - a)]; };
    if (!isMissing(axis))
      continue;
    int64_t last = axis;
    while (isMissing(last + 1))
      ++last;
    for (int64_t a = last; a >= axis; --a)
      x = apply("repeat", {axis, shape[static_cast<size_t>(rank - a)]}, {x});
    axis = last;
  }
  return x;
}

} // namespace headrace::rewrite
