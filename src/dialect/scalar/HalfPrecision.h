// f16 and bf16: the element types that are computed in f32.
#pragma once

#include "mlir/IR/TypeUtilities.h"

namespace headrace {

/// Whether a scalar, or a tensor's elements, have type f16 or bf16.
inline bool isHalf(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

} // namespace headrace
