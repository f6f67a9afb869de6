// Half precision: the element types that are computed in single precision.
#pragma once

#include "mlir/IR/TypeUtilities.h"

namespace headrace {

/// Of a number or of a tensor's elements.
inline bool isHalf(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

} // namespace headrace
