#include "frontend/aten/Table.h"

#include <cmath>
#include <limits>

namespace headrace::aten {

/// x * factor, in the result's type.
static Value scaled(Call &c, const Value &x, const Value &factor) {
  if (factor.isNone() || numberIn(factor) == 1.0)
    return x;
  return c.mapAs(c.type(), "mul", {x, factor});
}

static Value add(Call &c) {
  return c.mapAs(c.type(), "add", {c["self"], scaled(c, c["other"], c["alpha"])});
}

static Value sub(Call &c) {
  return c.mapAs(c.type(), "sub", {c["self"], scaled(c, c["other"], c["alpha"])});
}

static Value reverseSub(Call &c) {
  return c.mapAs(c.type(), "sub", {c["other"], scaled(c, c["self"], c["alpha"])});
}

/// Floats are divided by their exact remainder, as in Python: a quotient just below an integer may
/// round to it.
static Value floorDivide(Call &c) {
  if (!isFloat(c.type()))
    return c.mapAs(c.type(), "floor_divide", {c["self"], c["other"]});
  Node a = c.widened(c.b.detach(c.typed(c["self"], c.type())));
  Node b = c.widened(c.b.detach(c.typed(c["other"], c.type())));
  DType type = c.type(a);
  Node rest = c.map("remainder", {a, b});
  Node quotient = c.map("div", {c.map("sub", {a, rest}), b});
  Node signsDiffer =
      c.mapAs(DType::Bool, "not_equal", {c.map("less", {rest, 0}), c.map("less", {b, 0})});
  Node isAbove = c.map("and", {c.map("not_equal", {rest, 0}), signsDiffer});
  quotient = c.select(isAbove, c.map("sub", {quotient, 1}), quotient, type);
  Node whole = c.map("floor", {quotient});
  Node isNext = c.map("greater", {c.map("sub", {quotient, whole}), 0.5});
  whole = c.select(isNext, c.map("add", {whole, 1}), whole, type);
  Node result = c.select(c.map("equal", {b, 0}), c.map("div", {a, b}), whole, type);
  return c.b.cast(result, c.type());
}

static Value div(Call &c) {
  std::string rounding = c.text("rounding_mode", "");
  if (rounding == "floor")
    return floorDivide(c);
  return c.mapAs(c.type(), rounding.empty() ? "div" : "truncate_divide", {c["self"], c["other"]});
}

static Value power(Call &c) {
  const Value &base = c["self"], &exponent = c["exponent"];
  auto known = numberIn(exponent);
  if (!isFloat(c.type()) && (!known || *known < 0))
    c.unsupported("powers of integers by exponents that may be negative");
  DType type = c.type();
  if (known == 1.0)
    return c.typed(base, type);
  if (known == 3.0)
    return c.mapAs(type, "mul", {base, c.mapAs(type, "square", {base})});
  for (auto [value, function] :
       {std::pair(2.0, "square"), {0.5, "sqrt"}, {-0.5, "rsqrt"}, {-1.0, "reciprocal"}})
    if (known == value)
      return c.mapAs(type, function, {base});
  return c.mapAs(type, "power", {base, exponent});
}

/// NaN has the sign 0 here.
static Value sign(Call &c) {
  Node above = c.map("greater", {c["self"], 0}), below = c.map("less", {c["self"], 0});
  return c.mapAs(c.type(), "sub", {above, below});
}

static Node isNegative(Call &c, Node x) {
  Node below = c.map("less", {x, 0});
  if (!isFloat(c.type(x)))
    return below;
  Node isMinusZero = c.map("less", {c.map("reciprocal", {c.b.detach(x)}), 0});
  return c.select(c.map("equal", {x, 0}), isMinusZero, below, DType::Bool);
}

static Value copySign(Call &c) {
  Node size = c.mapAs(c.type(), "abs", {c["self"]});
  Node negative = isNegative(c, c.typed(c["other"], c.type()));
  return c.select(negative, c.map("neg", {size}), size, c.type());
}

/// The other operand instead of NaN.
static Write numberExtremum(const std::string &function) {
  return [function](Call &c) -> Value {
    DType type = c.type();
    Node a = c.typed(c["self"], type), b = c.typed(c["other"], type);
    Node extremum = c.map(function, {a, b});
    if (!isFloat(type))
      return extremum;
    extremum = c.select(c.map("is_nan", {b}), a, extremum, type);
    return c.select(c.map("is_nan", {a}), b, extremum, type);
  };
}

static Value addProduct(Call &c) {
  Node product = c.mapAs(c.type(), "mul", {c["tensor1"], c["tensor2"]});
  return c.mapAs(c.type(), "add", {c["self"], scaled(c, product, c["value"])});
}

static Value addQuotient(Call &c) {
  Node quotient = c.mapAs(c.type(), "div", {c["tensor1"], c["tensor2"]});
  return c.mapAs(c.type(), "add", {c["self"], scaled(c, quotient, c["value"])});
}

static Value fusedMultiplyAdd(Call &c) {
  return c.mapAs(c.type(), "add", {c.mapAs(c.type(), "mul", {c["a"], c["b"]}), c["c"]});
}

static Value lerp(Call &c) {
  Node way = c.mapAs(c.type(), "sub", {c["end"], c["self"]});
  Node step = c.mapAs(c.type(), "mul", {way, c["weight"]});
  return c.mapAs(c.type(), "add", {c["self"], step});
}

static Node timesLogarithm(Call &c, Node inner, const std::string &function) {
  Node x = c.typed(c["self"], c.type()), y = c.typed(c["other"], c.type());
  Node isOdd = c.map("or", {c.map("less_equal", {inner, 0}), c.map("is_inf", {inner})});
  Node isNothing = c.map("and", {c.map("equal", {x, 0}), isOdd});
  return c.select(isNothing, 0, c.map("mul", {x, c.map(function, {y})}), c.type());
}

/// x log(y), which is 0 if x is, and has a gradient there if log(y) is finite.
static Value xLogY(Call &c) { return timesLogarithm(c, c.typed(c["other"], c.type()), "log"); }

static Value xLog1pY(Call &c) {
  return timesLogarithm(c, c.mapAs(c.type(), "add", {c["other"], 1}), "log1p");
}

/// A difference of logarithms, whose gradient at 0 and 1 is infinite and not NaN.
static Value logit(Call &c) {
  Node x = c.typed(c["self"], c.type());
  if (c.has("eps")) {
    double low = c.number("eps"), high = 1 - low;
    x = c.select(c.map("less", {x, low}), low, x, c.type());
    x = c.select(c.map("greater", {x, high}), high, x, c.type());
  }
  x = c.widened(x);
  Node logs = c.map("sub", {c.map("log", {x}), c.map("log", {c.map("sub", {1, x})})});
  return c.b.cast(logs, c.type());
}

static Value angle(Call &c) {
  Node x = c.typed(c["self"], c.type());
  Node turned = c.select(c.map("less", {x, 0}), std::acos(-1.0), 0, c.type());
  return c.select(c.map("is_nan", {x}), x, turned, c.type());
}

static Value roundToDecimals(Call &c) {
  int64_t decimals = c.integer("decimals", 0);
  if (!isFloat(c.type()))
    c.unsupported("integers rounded to decimals");
  double factor = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  Node x = c.tensor("self");
  if (decimals == 0)
    return c.map("round", {x});
  Node wide = c.map(decimals > 0 ? "mul" : "div", {x, factor});
  return c.map(decimals > 0 ? "div" : "mul", {c.map("round", {wide}), factor});
}

static Value timesPowerOfTwo(Call &c) {
  Node factor = c.mapAs(c.type(), "exp2", {c["other"]});
  return c.mapAs(c.type(), "mul", {c["self"], factor});
}

static Value polygamma(Call &c) {
  int64_t order = c.integer("n");
  if (order > 1)
    c.unsupported("derivatives of digamma beyond the first");
  return c.mapAs(c.type(), order == 0 ? "digamma" : "trigamma", {c["self"]});
}

/// p (p - 1) log(pi) / 4 and the sum of lgamma(x - i / 2) for i < p.
static Value logMultivariateGamma(Call &c) {
  int64_t order = c.integer("p");
  c.require(order >= 1 && order <= 64, "an order from 1 to 64");
  Node x = c.typed(c["self"], c.type());
  double start = 0.25 * static_cast<double>(order * (order - 1)) * std::log(std::acos(-1.0));
  Node total = c.b.scalar(start, c.type());
  for (int64_t i = 0; i < order; ++i) {
    Node shifted = c.map("sub", {x, 0.5 * static_cast<double>(i)});
    total = c.map("add", {c.map("lgamma", {shifted}), total});
  }
  return total;
}

/// A function of one scalar in the result's type.
static Write unary(const std::string &function) {
  return [function](Call &c) -> Value { return c.mapAs(c.type(), function, {c["self"]}); };
}

static Write binary(const std::string &function) {
  return
      [function](Call &c) -> Value { return c.mapAs(c.type(), function, {c["self"], c["other"]}); };
}

/// Integers are rounded already.
static Write rounding(const std::string &function) {
  return [function](Call &c) -> Value {
    Node x = c.tensor("self");
    return isFloat(c.type()) ? c.map(function, {x}) : x;
  };
}

Operators arithmeticOperators() {
  Operators table{
      {"add", add},
      {"sub", sub},
      {"subtract", sub},
      {"rsub", reverseSub},
      {"div", div},
      {"true_divide", div},
      {"divide", div},
      {"floor_divide", floorDivide},
      {"pow", power},
      {"sign", sign},
      {"signbit", [](Call &c) -> Value { return isNegative(c, c.tensor("self")); }},
      {"copysign", copySign},
      {"fmax", numberExtremum("max")},
      {"fmin", numberExtremum("min")},
      {"addcmul", addProduct},
      {"addcdiv", addQuotient},
      {"lerp", lerp},
      {"prims.fma.default", fusedMultiplyAdd},
      {"xlogy", xLogY},
      {"special_xlog1py", xLog1pY},
      {"logit", logit},
      {"angle", angle},
      {"ldexp", timesPowerOfTwo},
      {"mul", binary("mul")},
      {"multiply", binary("mul")},
      {"maximum", binary("max")},
      {"minimum", binary("min")},
      {"max.other", binary("max")},
      {"min.other", binary("min")},
      {"atan2", binary("atan2")},
      {"hypot", binary("hypot")},
      {"remainder", binary("modulo")},
      {"fmod", binary("remainder")},
      {"round.decimals", roundToDecimals},
      {"polygamma", polygamma},
      {"mvlgamma", logMultivariateGamma},
  };
  for (const char *name :
       {"abs", "neg", "square", "reciprocal", "rsqrt", "lgamma", "digamma", "erfc", "erfinv", "i0"})
    table.push_back({name, unary(name)});
  for (const char *name : {"erfcx", "i0e", "i1", "i1e"})
    table.push_back({std::string("special_") + name, unary(name)});
#define HEADRACE_FUNCTION(Id, name, ...) table.push_back({#name, unary(#name)});
#define HEADRACE_STEPS(Id, name, ...) table.push_back({#name, rounding(#name)});
#include "runtime/scalar/Functions.def"
  return table;
}

} // namespace headrace::aten
