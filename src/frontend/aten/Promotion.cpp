#include "frontend/aten/Promotion.h"

namespace headrace::aten {

static int kindOf(DType type) { return type == DType::Bool ? 0 : isFloat(type) ? 2 : 1; }

static DType wider(DType a, DType b) {
  if (a == b)
    return a;
  if (kindOf(a) != kindOf(b))
    return kindOf(a) > kindOf(b) ? a : b;
  if (sizeOf(a) != sizeOf(b))
    return sizeOf(a) > sizeOf(b) ? a : b;
  // f16 and bf16 have f32 in common, i8 and u8 have i16.
  return isFloat(a) ? DType::F32 : DType::I16;
}

namespace {
/// The widest type of some operands; nothing if there are none.
struct Widest {
  std::optional<DType> type;
  void add(DType other) { type = type ? wider(*type, other) : other; }
};
} // namespace

static std::optional<DType> combined(std::optional<DType> high, std::optional<DType> low) {
  if (!high || !low)
    return high ? high : low;
  return kindOf(*low) > kindOf(*high) ? low : high;
}

DType promoted(const Call &c, std::initializer_list<Value> operands) {
  Widest tensors, points, scalars;
  for (const Value &each : operands) {
    if (const auto *node = each.as<Node>())
      (c.rank(*node) > 0 ? tensors : points).add(c.type(*node));
    else if (each.as<bool>())
      scalars.add(DType::Bool);
    else
      scalars.add(each.as<double>() ? DType::F32 : DType::I64);
  }
  auto type = combined(tensors.type, combined(points.type, scalars.type));
  if (!type)
    c.unsupported(c.name + " without operands");
  return *type;
}

} // namespace headrace::aten
