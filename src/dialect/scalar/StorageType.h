// Element types that nothing computes with as they are: unsigned integers, whose sign scalar
// arithmetic keeps in its operations, and 8-bit numbers and less that are only stored.
#pragma once

#include "mlir/IR/TypeUtilities.h"

namespace headrace {

/// The signless integer that holds a value of this type in memory; the type itself if CPUs compute
/// with it. Sub-byte values take a byte.
mlir::Type storageType(mlir::Type type);

/// Whether numbers of the type are stored as others.
inline bool isStored(mlir::Type type) { return storageType(type) != type; }

/// Floats that are computed with.
inline bool isPlainFloat(mlir::Type type) {
  return mlir::isa<mlir::FloatType>(type) && !isStored(type);
}

/// Floats of 8 and 4 bits.
bool isSmallFloat(mlir::Type type);

/// Integers of 4 and 2 bits.
inline bool isSmallInteger(mlir::Type type) {
  auto integer = mlir::dyn_cast<mlir::IntegerType>(type);
  return integer && (integer.getWidth() == 4 || integer.getWidth() == 2);
}

} // namespace headrace
