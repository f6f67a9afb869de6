#include "frontend/aten/Promotion.h"
#include "frontend/aten/Table.h"

namespace headrace::aten {

static Write comparison(const std::string &function) {
  return [function](Call &c) -> Value {
    DType type = promoted(c, {c["self"], c["other"]});
    return c.mapAs(type, function, {c["self"], c["other"]});
  };
}

static Write ofFlags(const std::string &function) {
  return [function](Call &c) -> Value {
    return c.mapAs(DType::Bool, function, {c["self"], c["other"]});
  };
}

static Write ofBits(const std::string &function) {
  return
      [function](Call &c) -> Value { return c.mapAs(c.type(), function, {c["self"], c["other"]}); };
}

static Value negation(Call &c) { return c.mapAs(c.type(), "not", {c["self"]}); }

static Write ofFloats(const std::string &function) {
  return [function](Call &c) -> Value {
    Node x = c.tensor("self");
    if (!isFloat(c.type(x)))
      return c.full(false, DType::Bool, c.shape());
    return c.b.cast(c.map(function, {x}), DType::Bool);
  };
}

/// A shift. Beyond the bits of the type nothing is left but the sign, of a right shift.
static Write shift(bool isLeft) {
  return [isLeft](Call &c) -> Value {
    DType type = c.type();
    Node x = c.typed(c["self"], type), count = c.typed(c["other"], type);
    auto bits = static_cast<int64_t>(8 * sizeOf(type));
    Node isBeyond = c.map("or", {c.map("less", {count, 0}), c.map("greater_equal", {count, bits})});
    if (isLeft) {
      Node factor = c.map("power", {2, c.select(isBeyond, 0, count, type)});
      return c.select(isBeyond, 0, c.map("mul", {x, factor}), type);
    }
    // The greatest power of two of a type has its sign.
    Node isSign = c.map("or", {isBeyond, c.map("equal", {count, bits - 1})});
    Node factor = c.map("power", {2, c.select(isSign, 0, count, type)});
    Node sign = c.select(c.map("less", {x, 0}), -1, 0, type);
    if (type == DType::U8)
      sign = c.select(isBeyond, 0, c.map("floor_divide", {x, 128}), type);
    return c.select(isSign, sign, c.map("floor_divide", {x, factor}), type);
  };
}

static Value where(Call &c) {
  return c.select(c.tensor("condition"), c["self"], c["other"], c.type());
}

static Value maskedFill(Call &c) {
  return c.select(c.tensor("mask"), c["value"], c["self"], c.type());
}

/// The gradient is the tensor's own where it meets the bound, which an extremum would share.
static Node within(Call &c, Node x, const Value &bound, const std::string &extremum,
                   const std::string &beyond) {
  DType type = c.type();
  if (!c.differentiates)
    return c.mapAs(type, extremum, {x, bound});
  Node takesBound = c.mapAs(type, beyond, {x, bound});
  if (bound.as<Node>() && isFloat(type))
    takesBound = c.map("or", {takesBound, c.mapAs(type, "is_nan", {bound})});
  return c.select(takesBound, bound, x, type);
}

static Value clamp(Call &c) {
  Value low = c["min"], high = c["max"];
  if (c.differentiates && low.as<Node>() && high.as<Node>()) {
    // A lower bound that is the upper one, too, has no gradient.
    Node bound = *low.as<Node>();
    low = c.select(c.map("less", {bound, high}), bound, c.b.detach(bound), c.type());
  }
  Node x = c.tensor("self");
  if (!low.isNone())
    x = within(c, x, low, "max", "less");
  if (!high.isNone())
    x = within(c, x, high, "min", "greater");
  return x;
}

static Value isClose(Call &c) {
  DType type = promoted(c, {c["self"], c["other"]});
  DType wide = isFloat(type) ? type : DType::F64;
  Node a = c.typed(c["self"], wide), b = c.typed(c["other"], wide);
  double relative = c.number("rtol", 1e-5), absolute = c.number("atol", 1e-8);
  Node allowed = c.map("add", {c.map("mul", {c.map("abs", {b}), relative}), absolute});
  Node distance = c.map("abs", {c.map("sub", {a, b})});
  Node finite = c.map("not", {c.map("is_inf", {distance})});
  Node near = c.map("and", {c.map("less_equal", {distance, allowed}), finite});
  Node close = c.map("or", {c.map("equal", {a, b}), near});
  if (!c.flag("equal_nan", false))
    return close;
  return c.map("or", {close, c.map("and", {c.map("is_nan", {a}), c.map("is_nan", {b})})});
}

Operators comparisonOperators() {
  Operators table{
      {"logical_not", negation},
      {"bitwise_not", negation},
      {"bitwise_left_shift", shift(true)},
      {"bitwise_right_shift", shift(false)},
      {"__lshift__", shift(true)},
      {"__rshift__", shift(false)},
      {"isnan", ofFloats("is_nan")},
      {"isinf", ofFloats("is_inf")},
      {"where.self", where},
      {"where.Scalar", where},
      {"where.ScalarSelf", where},
      {"where.ScalarOther", where},
      {"masked_fill", maskedFill},
      {"clamp", clamp},
      {"clip", clamp},
      {"clamp_min", clamp},
      {"clamp_max", clamp},
      {"isclose", isClose},
  };
  for (auto [name, function] : {std::pair("eq", "equal"),
                                {"ne", "not_equal"},
                                {"lt", "less"},
                                {"le", "less_equal"},
                                {"gt", "greater"},
                                {"ge", "greater_equal"}})
    table.push_back({name, comparison(function)});
  for (const char *name : {"and", "or", "xor"}) {
    table.push_back({std::string("logical_") + name, ofFlags(name)});
    table.push_back({std::string("bitwise_") + name, ofBits(name)});
    table.push_back({std::string("__") + name + "__", ofBits(name)});
  }
  return table;
}

} // namespace headrace::aten
