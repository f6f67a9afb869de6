#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <cmath>
#include <limits>

namespace headrace::aten {

Node reduced(Call &c, const std::string &kind, Node x, const Integers &axes, bool keep) {
  return c.rank(x) == 0 ? x : c.b.reduce(kind, x, axes, keep);
}

Node root(Call &c, Node x) {
  return c.select(c.map("equal", {x, 0}), 0, c.map("sqrt", {x}), c.type(x));
}

static Write fold(const std::string &kind) {
  return [kind](Call &c) -> Value {
    Node x = c.b.cast(c.tensor("self"), c.type());
    return reduced(c, kind, x, c.axes("dim", c.rank(x)), c.flag("keepdim", false));
  };
}

static Write extremum(const std::string &kind) {
  return [kind](Call &c) -> Value {
    Node x = c.tensor("self");
    bool isFlag = c.type(x) == DType::Bool;
    Node y = isFlag ? c.b.cast(x, DType::I32) : x;
    y = reduced(c, kind, y, c.axes("dim", c.rank(x)), c.flag("keepdim", false));
    return c.b.cast(y, c.type());
  };
}

static Value bothExtrema(Call &c) {
  Node x = c.tensor("self");
  Node y = c.type(x) == DType::Bool ? c.b.cast(x, DType::I32) : x;
  Integers axes = c.axes("dim", c.rank(x));
  bool keep = c.flag("keepdim", false);
  List results;
  for (const char *kind : {"min", "max"})
    results.push_back(c.b.cast(reduced(c, kind, y, axes, keep), c.type(x)));
  return results;
}

static Write logical(const std::string &kind) {
  return [kind](Call &c) -> Value {
    Node x = c.tensor("self");
    Node flags = c.b.cast(c.b.cast(x, DType::Bool), DType::I32);
    flags = reduced(c, kind, flags, c.axes("dim", c.rank(x)), c.flag("keepdim", false));
    return c.b.cast(c.b.cast(flags, DType::Bool), c.type());
  };
}

static Value countNonzero(Call &c) {
  Node x = c.b.cast(c.b.cast(c.tensor("self"), DType::Bool), DType::I64);
  return reduced(c, "sum", x, c.axes("dim", c.rank(x)), false);
}

/// An infinite maximum stays out of the difference, which would give NaN.
static Value logSumExp(Call &c) {
  Node x = c.typed(c["self"], c.type());
  Integers axes = c.axes("dim", c.rank(x));
  Node most = c.b.detach(reduced(c, "max", x, axes, true));
  Node finite = c.map("equal", {c.map("sub", {most, most}), 0});
  most = c.select(finite, most, 0, c.type(x));
  Node total = reduced(c, "sum", c.map("exp", {c.map("sub", {x, most})}), axes, true);
  return c.b.reshape(c.map("add", {c.map("log", {total}), most}), c.shape());
}

Moments moments(Call &c, Node x, const Integers &axes, const Value &correction) {
  Node mean = reduced(c, "mean", x, axes, true);
  Node squares = c.map("square", {c.map("sub", {x, mean})});
  if (numberIn(correction) == 0.0)
    return {reduced(c, "mean", squares, axes, true), mean};
  Node total = reduced(c, "sum", squares, axes, true);
  Node freedom = c.map("max", {c.map("sub", {c.count(x, axes, c.type(x)), correction}), 0});
  return {c.map("div", {total, freedom}), mean};
}

/// f16 and bf16 may not represent the number of elements.
static Value variance(Call &c) {
  Node x = c.tensor("self");
  DType type = c.type(x);
  bool both = c.name.ends_with("_mean"), isRoot = c.name.starts_with("std");
  Value correction = c["correction"];
  if (correction.isNone())
    correction = c.flag("unbiased", true) ? 1 : 0;
  Moments found = moments(c, c.widened(x), c.axes("dim", c.rank(x)), correction);
  Node spread = isRoot ? root(c, found.variance) : found.variance;
  auto finished = [&](Node each) { return c.b.cast(c.b.reshape(each, c.shape()), type); };
  if (both)
    return List{finished(spread), finished(found.mean)};
  return finished(spread);
}

/// The root of a sum of powers. Elements that are 0, and the norm if it is, have the gradient 0.
static Node powerNorm(Call &c, Node x, double order, const Integers &axes, bool keep) {
  DType type = c.type(x);
  double ofZero = order > 0 ? 0 : std::numeric_limits<double>::infinity();
  auto power = [&](Node base, double exponent) {
    Node isZero = c.map("equal", {base, 0});
    Node raised = c.map("power", {c.select(isZero, 1, base, type), exponent});
    return c.select(isZero, ofZero, raised, type);
  };
  return power(reduced(c, "sum", power(c.map("abs", {x}), order), axes, keep), 1 / order);
}

Node normAlong(Call &c, Node x, double order, const Integers &axes, bool keep) {
  if (order == 2)
    return root(c, reduced(c, "sum", c.map("square", {x}), axes, keep));
  Node size = c.map("abs", {x});
  if (order == 1)
    return reduced(c, "sum", size, axes, keep);
  if (std::isinf(order))
    return reduced(c, order > 0 ? "max" : "min", size, axes, keep);
  if (order == 0 && c.differentiates) // eager mode has no gradient where this has zeros
    c.unsupported("a gradient of a norm of order 0");
  if (order == 0)
    return reduced(c, "sum", c.b.cast(c.map("not_equal", {x, 0}), c.type(x)), axes, keep);
  return powerNorm(c, x, order, axes, keep);
}

static Value vectorNorm(Call &c) {
  Node x = c.typed(c["self"], c.type());
  double order = c.number(c.name == "norm" ? "p" : "ord", 2);
  return normAlong(c, x, order, c.axes("dim", c.rank(x)), c.flag("keepdim", false));
}

static Value distance(Call &c) {
  Node x = c.mapAs(c.type(), "sub", {c["self"], c["other"]});
  return normAlong(c, x, c.number("p", 2), c.axes("dim", c.rank(x)), false);
}

/// The distances of all rows of one matrix from all of another.
static Value distances(Call &c) {
  Node a = c.tensor("x1"), b = c.tensor("x2");
  Node apart = c.map("sub", {c.unsqueeze(a, {c.rank(a) - 1}), c.unsqueeze(b, {c.rank(b) - 2})});
  int64_t last = c.rank(apart) - 1;
  return c.b.reshape(normAlong(c, apart, c.number("p", 2), {last}, false), c.shape());
}

/// The distances of all pairs of a matrix's rows.
static Value pairDistances(Call &c) {
  Node x = c.tensor("self");
  auto count = known(c.b.shape(x).at(0));
  c.require(count.has_value(), "a number of rows that is not dynamic");
  c.listed({*count, *count});
  Integers first, second;
  for (int64_t i = 0; i < *count; ++i)
    for (int64_t j = i + 1; j < *count; ++j)
      first.push_back(i), second.push_back(j);
  auto pairs = static_cast<int64_t>(first.size());
  Node apart = c.map("sub", {c.b.gather(x, c.integers(first, {pairs}), 0, false),
                             c.b.gather(x, c.integers(second, {pairs}), 0, false)});
  return normAlong(c, apart, c.number("p", 2), {1}, false);
}

Operators reductionOperators() {
  return {
      {"sum", fold("sum")},
      {"mean", fold("mean")},
      {"prod", fold("prod")},
      {"amax", extremum("max")},
      {"amin", extremum("min")},
      {"max.default", extremum("max")},
      {"min.default", extremum("min")},
      {"aminmax", bothExtrema},
      {"any", logical("max")},
      {"all", logical("min")},
      {"count_nonzero", countNonzero},
      {"logsumexp", logSumExp},
      {"var", variance},
      {"std", variance},
      {"var_mean", variance},
      {"std_mean", variance},
      {"linalg_vector_norm", vectorNorm},
      {"norm.Scalar", vectorNorm},
      {"norm.ScalarOpt_dim", vectorNorm},
      {"dist", distance},
      {"_cdist_forward", distances},
      {"_pdist_forward", pairDistances},
  };
}

} // namespace headrace::aten
