#include "dialect/scalar/StorageType.h"

#include "dialect/Hr.h"

using namespace mlir;

namespace headrace {

bool isSmallFloat(Type type) {
  return type.isFloat8E4M3FN() || type.isFloat8E4M3FNUZ() || type.isFloat8E5M2() ||
         type.isFloat8E5M2FNUZ() || isa<hr::Float4E2M1Type>(type) || isa<hr::Float8E8M0Type>(type);
}

Type storageType(Type type) {
  if (isSmallFloat(type) || isSmallInteger(type))
    return IntegerType::get(type.getContext(), 8);
  if (type.isUnsignedInteger())
    return IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth());
  return type;
}

namespace hr {

LogicalResult BitsOp::verify() {
  Type from = getInput().getType(), to = getType();
  if (storageType(from) != to && storageType(to) != from)
    return emitOpError("expected a number and the integer that stores it, got ")
           << from << " and " << to;
  return success();
}

/// Folds a conversion to the stored integer and back to the original value.
OpFoldResult BitsOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto before = getInput().getDefiningOp<BitsOp>();
  return before && before.getInput().getType() == getType() ? before.getInput() : OpFoldResult();
}

} // namespace hr
} // namespace headrace
