#include "dialect/SymbolicShape.h"

#include "dialect/Hr.h"
#include "runtime/system/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace headrace {

AffineExpr constantDim(int64_t value, MLIRContext *context) {
  return getAffineConstantExpr(value, context);
}

std::optional<int64_t> constantValue(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

static unsigned symbolsUsed(ArrayRef<AffineExpr> exprs) {
  unsigned count = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        count = std::max(count, symbol.getPosition() + 1);
    });
  return count;
}

AffineMap symbolMap(ArrayRef<AffineExpr> exprs, MLIRContext *context) {
  return AffineMap::get(0, symbolsUsed(exprs), exprs, context);
}

SymbolicShape shapeOf(RankedTensorType type) {
  auto encoding = dyn_cast_or_null<AffineMapAttr>(type.getEncoding());
  SymbolicShape dims;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size))
      dims.push_back(constantDim(size, type.getContext()));
    else if (encoding)
      dims.push_back(encoding.getValue().getResult(i));
    else
      throw InternalError("a dynamic dimension has no expression");
  }
  return dims;
}

SymbolicShape shapeOf(Value value) { return shapeOf(cast<RankedTensorType>(value.getType())); }

RankedTensorType tensorType(ArrayRef<AffineExpr> dims, Type elementType) {
  SmallVector<int64_t> sizes;
  SmallVector<AffineExpr> exprs;
  bool symbolic = false;
  for (AffineExpr dim : dims) {
    exprs.push_back(normalized(dim));
    auto constant = constantValue(exprs.back());
    symbolic |= !constant;
    sizes.push_back(constant.value_or(ShapedType::kDynamic));
  }
  if (!symbolic)
    return RankedTensorType::get(sizes, elementType);
  return RankedTensorType::get(sizes, elementType,
                               AffineMapAttr::get(symbolMap(exprs, elementType.getContext())));
}

RankedTensorType plainType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

RankedTensorType specialize(RankedTensorType type, ArrayRef<std::optional<int64_t>> values) {
  MLIRContext *context = type.getContext();
  SmallVector<AffineExpr> replacements;
  for (auto [i, value] : llvm::enumerate(values))
    replacements.push_back(value ? constantDim(*value, context) : getAffineSymbolExpr(i, context));
  SymbolicShape dims;
  for (AffineExpr dim : shapeOf(type))
    dims.push_back(dim.replaceSymbols(replacements));
  return tensorType(dims, type.getElementType());
}

AffineExpr elementCount(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  AffineExpr count = constantDim(1, context);
  for (AffineExpr dim : dims)
    count = count * dim;
  return normalized(count);
}

AffineExpr byteCount(RankedTensorType type) {
  return elementCount(shapeOf(type), type.getContext()) *
         static_cast<int64_t>(sizeOf(toDType(type.getElementType())));
}

std::optional<SymbolicShape> broadcastShapes(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SymbolicShape result(a);
  for (size_t i = 0; i < b.size(); ++i) {
    AffineExpr &dim = result[a.size() - b.size() + i];
    if (constantValue(b[i]) == 1 || sameSize(dim, b[i]))
      continue;
    if (constantValue(dim) != 1)
      return std::nullopt;
    dim = b[i];
  }
  return result;
}

std::string shapeText(ArrayRef<AffineExpr> dims) {
  if (dims.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(dims, os, [&](AffineExpr dim) { os << dim; }, "x");
  return text;
}

DType toDType(Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isFloat8E4M3FN())
    return DType::F8E4M3FN;
  if (type.isFloat8E4M3FNUZ())
    return DType::F8E4M3FNUZ;
  if (type.isFloat8E5M2())
    return DType::F8E5M2;
  if (type.isFloat8E5M2FNUZ())
    return DType::F8E5M2FNUZ;
  if (isa<hr::Float4E2M1Type>(type))
    return DType::F4E2M1;
  if (isa<hr::Float8E8M0Type>(type))
    return DType::F8E8M0;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return DType::Bool;
    case 2:
      return isUnsigned ? DType::U2 : DType::I2;
    case 4:
      return isUnsigned ? DType::U4 : DType::I4;
    case 8:
      return isUnsigned ? DType::U8 : DType::I8;
    case 16:
      return isUnsigned ? DType::U16 : DType::I16;
    case 32:
      return isUnsigned ? DType::U32 : DType::I32;
    case 64:
      return isUnsigned ? DType::U64 : DType::I64;
    default:
      break;
    }
  }
  throw InternalError("an element type has no counterpart in the runtime");
}

Type toElementType(DType dtype, MLIRContext *context) {
  Builder b(context);
  switch (dtype) {
  case DType::Bool:
    return b.getI1Type();
  case DType::I8:
    return b.getI8Type();
  case DType::I16:
    return b.getI16Type();
  case DType::I32:
    return b.getI32Type();
  case DType::I64:
    return b.getI64Type();
  case DType::U8:
    return b.getIntegerType(8, false);
  case DType::U16:
    return b.getIntegerType(16, false);
  case DType::U32:
    return b.getIntegerType(32, false);
  case DType::U64:
    return b.getIntegerType(64, false);
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F32:
    return b.getF32Type();
  case DType::F64:
    return b.getF64Type();
  case DType::F8E4M3FN:
    return b.getFloat8E4M3FNType();
  case DType::F8E4M3FNUZ:
    return b.getFloat8E4M3FNUZType();
  case DType::F8E5M2:
    return b.getFloat8E5M2Type();
  case DType::F8E5M2FNUZ:
    return b.getFloat8E5M2FNUZType();
  case DType::F4E2M1:
    return hr::Float4E2M1Type::get(context);
  case DType::I4:
    return b.getIntegerType(4);
  case DType::U4:
    return b.getIntegerType(4, false);
  case DType::I2:
    return b.getIntegerType(2);
  case DType::U2:
    return b.getIntegerType(2, false);
  case DType::F8E8M0:
    return hr::Float8E8M0Type::get(context);
  }
  throw InternalError("unknown element type");
}

} // namespace headrace
