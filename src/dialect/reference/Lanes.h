// One scalar for many elements of a tensor at once.
#pragma once

#include "dialect/reference/Reference.h"

#include "mlir/IR/AffineMap.h"

namespace headrace::reference {

/// The bits of a number of this type in memory; 64 for an index.
unsigned widthOf(mlir::Type type);

/// A scalar for each element: `floats` or, sign-extended, `integers` is filled.
struct Lanes {
  std::vector<double> floats;
  std::vector<int64_t> integers;
};

/// Elements [begin, begin + count) of a tensor of this declared type, and back.
Lanes loadLanes(const Tensor &tensor, mlir::Type elementType, int64_t begin, int64_t count);
void storeLanes(const Lanes &lanes, mlir::Type elementType, Tensor &tensor, int64_t begin);

/// An affine expression at each of `count` positions. Its symbols are positions, too, from
/// `firstSymbol` on.
std::vector<int64_t> valuesAt(mlir::AffineExpr expr, const std::vector<Lanes> &positions,
                              int64_t count, unsigned firstSymbol = 0);

/// The places, in row-major order, of the elements of a tensor of this shape that the map gives at
/// each of `count` positions. Throws InternalError if one of them is outside of the tensor;
/// `reader` names who reads it.
std::vector<int64_t> placesAt(mlir::AffineMap map, const std::vector<Lanes> &positions,
                              int64_t count, Sizes shape, llvm::StringRef reader);

/// The elements at these places of a tensor of the declared type, and back.
Lanes gatherLanes(const Tensor &tensor, mlir::Type elementType, llvm::ArrayRef<int64_t> places);
void scatterLanes(const Lanes &lanes, mlir::Type elementType, Tensor &tensor,
                  llvm::ArrayRef<int64_t> places);

/// Fills in the positions of `count` points from the point `begin`, which are in row-major order
/// over these dimensions of these sizes.
void setPositions(std::vector<Lanes> &positions, llvm::ArrayRef<unsigned> dimensions, Sizes sizes,
                  int64_t begin, int64_t count);

} // namespace headrace::reference
