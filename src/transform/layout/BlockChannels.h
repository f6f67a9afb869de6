// Layouts in which the channels of an image are in blocks: [N, C/16, H, W, 16] instead of
// [N, H, W, C].
#pragma once

#include "dialect/Hr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// On a convolution: the size of the blocks that its recipe asks for.
inline constexpr llvm::StringLiteral kBlockedAttr = "hr.blocked";

/// The block size that a layout such as "blocked16" gives; nothing for other layouts.
std::optional<int64_t> blockSize(llvm::StringRef layout);
/// Why the channels of this operator cannot be stored in such blocks; empty if they can.
std::string unsupportedBlockedReason(mlir::Operation *op, int64_t block);

/// Puts the channels of convolutions that ask for it into blocks, and of what follows them:
///
///   %y = hr.conv channels_last %x, %w {hr.blocked = 16} : (tensor<1x9x9x32xf32>, ...)
///   %r = hr.map(%y, %bias) { relu }
/// becomes
///   %b = hr.transpose (hr.reshape %x to 1x9x9x2x16) to 1x2x9x9x16
///   %y = hr.compute(%b, blocked %w) over (n, f, y, x, j, c, p, q, i)
///   %r = hr.map(%y, blocked %bias) { relu }
///   ... and back if others read it
///
/// Maps, poolings, pads and joins of blocked images are blocked, too.
void blockChannels(mlir::func::FuncOp program);

} // namespace headrace
