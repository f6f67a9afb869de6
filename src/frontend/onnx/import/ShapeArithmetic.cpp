// Element-wise operators on integers known at import.
#include "frontend/onnx/import/ShapeArithmetic.h"

#include "frontend/onnx/read/TensorReader.h"

using namespace mlir;

namespace headrace::onnx::shapes {

std::optional<Shape> constantShape(ArrayRef<AffineExpr> dims) {
  Shape shape;
  int64_t count = 1;
  for (AffineExpr dim : dims) {
    auto size = constantValue(dim);
    if (!size || *size < 0 || *size > kMaxKnownElements || count > kMaxKnownElements)
      return std::nullopt;
    shape.push_back(*size);
    count *= *size;
  }
  return count <= kMaxKnownElements ? std::optional(shape) : std::nullopt;
}

static SymbolicShape dimsOf(NodeContext &c, const Shape &shape) {
  SymbolicShape dims;
  for (int64_t size : shape)
    dims.push_back(c.dim(size));
  return dims;
}

bool broadcastAll(NodeContext &c, MutableArrayRef<SymbolicValue> values) {
  SymbolicShape joined;
  for (const SymbolicValue &value : values) {
    auto next = broadcastShapes(joined, dimsOf(c, value.shape));
    if (!next)
      return false;
    joined = *next;
  }
  auto shape = constantShape(joined);
  if (!shape)
    return false;
  for (SymbolicValue &value : values) {
    SymbolicShape repeated;
    int64_t count = headrace::elementCount(*shape);
    size_t missing = shape->size() - value.shape.size();
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, offset = 0, stride = 1;
      for (size_t d = shape->size(); d-- > missing;) {
        int64_t size = value.shape[d - missing];
        offset += size == 1 ? 0 : rest % (*shape)[d] * stride;
        rest /= (*shape)[d];
        stride *= size;
      }
      repeated.push_back(value.elements[offset]);
    }
    value = {value.dtype, *shape, repeated};
  }
  return true;
}

SmallVector<SymbolicValue> allInputs(NodeContext &c) {
  SmallVector<SymbolicValue> values;
  for (size_t i = 0; i < c.inputCount(); ++i)
    values.push_back(*c.known(i));
  return values;
}

static Known elementwise(NodeContext &c, BinaryRule rule, std::optional<DType> resultType = {}) {
  SmallVector<SymbolicValue> values = allInputs(c);
  bool arithmeticOnBools = !resultType && values.front().dtype == DType::Bool;
  if (arithmeticOnBools || !broadcastAll(c, values))
    return std::nullopt;
  SymbolicValue result = values.front();
  for (const SymbolicValue &next : llvm::drop_begin(values)) {
    if (next.dtype != result.dtype)
      return std::nullopt;
    for (auto [element, other] : llvm::zip(result.elements, next.elements)) {
      Element combined = rule(element, other);
      if (!combined || !isManageable(*combined, kMaxTerm))
        return std::nullopt;
      element = *combined;
    }
  }
  result.dtype = resultType.value_or(result.dtype);
  return result;
}

Element sum(AffineExpr a, AffineExpr b) {
  bool fits = isManageable(a, kMaxTerm) && isManageable(b, kMaxTerm);
  return fits ? Element(a + b) : std::nullopt;
}

Element product(AffineExpr a, AffineExpr b) {
  bool fits = isManageable(a, kMaxFactor) && isManageable(b, kMaxFactor);
  return fits ? Element(a * b) : std::nullopt;
}

static bool areTerms(AffineExpr a, AffineExpr b) { return sum(a, b).has_value(); }

Known add(NodeContext &c) { return elementwise(c, sum); }
Known mul(NodeContext &c) { return elementwise(c, product); }
Known sub(NodeContext &c) {
  return elementwise(c, [](AffineExpr a, AffineExpr b) {
    return isManageable(b, kMaxTerm) ? sum(a, b * -1) : std::nullopt;
  });
}

/// Toward zero, which for sizes is down.
Known div(NodeContext &c) {
  return elementwise(c, [](AffineExpr a, AffineExpr b) -> Element {
    auto number = constantValue(a), divisor = constantValue(b);
    if (divisor == 0 || !areTerms(a, b))
      return std::nullopt;
    if (number && divisor)
      return constantDim(*number / *divisor, a.getContext());
    if (auto exact = exactQuotient(a, b))
      return exact;
    if (!divisor || *divisor < 0 || !isNonNegative(a))
      return std::nullopt;
    return a.floorDiv(*divisor);
  });
}

/// For rules that say nothing of dynamic dimensions.
static Element byNumber(AffineExpr a, AffineExpr b, int64_t (*rule)(int64_t, int64_t)) {
  auto x = constantValue(a), y = constantValue(b);
  return x && y ? Element(constantDim(rule(*x, *y), a.getContext())) : std::nullopt;
}

Known min(NodeContext &c) {
  return elementwise(c, [](AffineExpr a, AffineExpr b) {
    return byNumber(a, b, [](int64_t x, int64_t y) { return std::min(x, y); });
  });
}

Known max(NodeContext &c) {
  return elementwise(c, [](AffineExpr a, AffineExpr b) {
    return byNumber(a, b, [](int64_t x, int64_t y) { return std::max(x, y); });
  });
}

/// Sizes only: with a negative number the two kinds of remainder differ.
Known mod(NodeContext &c) {
  return elementwise(c, [](AffineExpr a, AffineExpr b) -> Element {
    auto divisor = constantValue(b);
    if (!divisor || *divisor <= 0 || !isNonNegative(a))
      return std::nullopt;
    return a % *divisor;
  });
}

Known neg(NodeContext &c) {
  SymbolicValue value = *c.known(0);
  for (AffineExpr &element : value.elements) {
    if (!isManageable(element, kMaxTerm))
      return std::nullopt;
    element = element * -1;
  }
  return value;
}

/// Sizes are never negative: so exporters' -1 differs from any of them.
Known equal(NodeContext &c) {
  auto rule = [](AffineExpr a, AffineExpr b) -> Element {
    auto answer = [&](bool is) { return constantDim(is, a.getContext()); };
    auto x = constantValue(a), y = constantValue(b);
    if (x && y)
      return answer(*x == *y);
    if (!areTerms(a, b))
      return std::nullopt;
    if (sameSize(a, b))
      return answer(true);
    if ((x && *x < 0 && isNonNegative(b)) || (y && *y < 0 && isNonNegative(a)))
      return answer(false);
    return std::nullopt;
  };
  return elementwise(c, rule, DType::Bool);
}

Known greater(NodeContext &c) {
  return elementwise(
      c,
      [](AffineExpr a, AffineExpr b) {
        return byNumber(a, b, [](int64_t x, int64_t y) { return int64_t(x > y); });
      },
      DType::Bool);
}

Known less(NodeContext &c) {
  return elementwise(
      c,
      [](AffineExpr a, AffineExpr b) {
        return byNumber(a, b, [](int64_t x, int64_t y) { return int64_t(x < y); });
      },
      DType::Bool);
}

Known logicalNot(NodeContext &c) {
  SymbolicValue value = *c.known(0);
  if (value.dtype != DType::Bool)
    return std::nullopt;
  for (AffineExpr &element : value.elements)
    element = c.dim(constantValue(element) == 0);
  return value;
}

Known where(NodeContext &c) {
  SmallVector<SymbolicValue> values = allInputs(c);
  if (values.size() != 3 || values[0].dtype != DType::Bool || values[1].dtype != values[2].dtype ||
      !broadcastAll(c, values))
    return std::nullopt;
  SymbolicValue result = values[1];
  for (size_t i = 0; i < result.elements.size(); ++i) {
    auto condition = constantValue(values[0].elements[i]);
    if (!condition)
      return std::nullopt;
    result.elements[i] = values[*condition ? 1 : 2].elements[i];
  }
  return result;
}

/// Dynamic dimensions keep their value in any type that holds sizes.
Known cast(NodeContext &c) {
  if (const Attribute *to = c.node.find("to"); to && to->kind == Attribute::String)
    return std::nullopt; // a name, in versions before 6
  auto dtype =
      dtypeOfCode(static_cast<int32_t>(std::clamp<int64_t>(c.node.getInt("to", 0), 0, 99)));
  SymbolicValue value = *c.known(0);
  if (dtype && isIntegerOrBool(*dtype)) {
    if (auto numbers = value.constants())
      return symbolicValue(toTensor(value, *numbers).converted(*dtype), c.context);
    if (*dtype == DType::I64 || *dtype == DType::I32)
      return SymbolicValue{*dtype, value.shape, value.elements};
  }
  return std::nullopt;
}

} // namespace headrace::onnx::shapes
