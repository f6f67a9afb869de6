#pragma once

#include "mlir/IR/AffineExpr.h"

namespace headrace::hr {

/// Size of one spatial dimension after a window has slid over it.
inline mlir::AffineExpr slide(mlir::AffineExpr size, int64_t low, int64_t high, int64_t window,
                              int64_t dilation, int64_t stride) {
  return (size + (low + high - dilation * (window - 1) - 1)).floorDiv(stride) + 1;
}

/// Whether any side of the image is padded.
inline bool isAnyNonZero(llvm::ArrayRef<int64_t> pads) {
  return llvm::any_of(pads, [](int64_t pad) { return pad != 0; });
}

} // namespace headrace::hr
