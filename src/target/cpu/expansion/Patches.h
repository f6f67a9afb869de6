#pragma once

#include "dialect/Hr.h"

namespace headrace {

/// Whether a convolution can become a product of matrices: channels last, one group, no padding
/// left, and few enough positions in its window.
bool hasPatches(hr::ConvOp op);
/// The positions of its window.
int64_t positionsOf(hr::ConvOp op);

/// Puts the product of its image's patches with its filter in the convolution's place:
///   patches [n, oh, ow, kh * kw * c] = concat of one strided slice per position of the window
/// The patches are as many times larger than the image as the window has positions.
hr::ContractOp convolutionAsProduct(hr::ConvOp op, mlir::RewriterBase &rewriter);

/// The members of BytePatches (runtime/library/BytePatches.h) for a convolution of up to three
/// dimensions, channels last.
llvm::SmallVector<mlir::AffineExpr> patchParameters(hr::ConvOp op);

} // namespace headrace
