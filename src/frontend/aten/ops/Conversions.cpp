// Element types, and what stays as it is.
#include "frontend/aten/Table.h"

namespace headrace::aten {

static Value same(Call &c) { return c.tensor("self"); }

/// Floats become bytes by way of 64-bit integers: the lowest bits of what is beyond 0 to 255.
static Node convertedTo(Call &c, Node x, DType type) {
  return c.b.cast(type == DType::U8 && isFloat(c.type(x)) ? c.b.cast(x, DType::I64) : x, type);
}

/// On the way, values are on the program's device whatever was asked for.
static Value converted(Call &c) { return convertedTo(c, c.tensor("self"), c.type()); }

static Value copy(Call &c) {
  return c.b.broadcast(convertedTo(c, c.tensor("src"), c.type()), c.shape());
}

static Value inference(Call &c) {
  if (c.flag("train", false) && c.number("p", 0.5) > 0)
    c.unsupported(c.name + " in training");
  return c.tensor(c.has("input") ? "input" : "self");
}

/// Conditions that held when the program was exported; sizes are checked by the program's guards.
static Value nothing(Call &) { return {}; }

Operators conversionOperators() {
  return {
      {"_to_copy", converted},
      {"to", converted},
      {"type_as", converted},
      {"float", converted},
      {"copy", copy},
      {"clone", same},
      {"alias", same},
      {"lift_fresh_copy", same},
      {"lift_fresh", same},
      {"contiguous", same},
      {"detach", [](Call &c) -> Value { return c.b.detach(c.tensor("self")); }},
      {"detach_copy", [](Call &c) -> Value { return c.b.detach(c.tensor("self")); }},
      {"dropout", inference},
      {"feature_dropout", inference},
      {"alpha_dropout", inference},
      {"_assert_tensor_metadata", nothing},
      {"_assert_scalar", nothing},
      {"sym_constrain_range_for_size", nothing},
      {"sym_constrain_range", nothing},
  };
}

} // namespace headrace::aten
