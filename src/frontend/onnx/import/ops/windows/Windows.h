// Windows that slide over the spatial dimensions of an image.
#pragma once

#include "frontend/onnx/import/ops/windows/Convolution.h"

namespace headrace::onnx {

/// Far beyond any image; keeps products of the attributes' numbers from overflowing.
inline constexpr int64_t kMaxWindow = int64_t(1) << 30;

/// The number of spatial dimensions of input 0, which are all but batch and channels.
size_t spatialRank(NodeContext &c);

/// A list of `count` numbers from `least` on.
llvm::SmallVector<int64_t> windowNumbers(NodeContext &c, const char *attribute, size_t count,
                                         int64_t otherwise, int64_t least);

/// The window of that size with the node's strides, dilations and pads.
Window readWindow(NodeContext &c, llvm::ArrayRef<int64_t> size);

/// Gives the window the pads that make the result as large as the input divided by the stride; an
/// odd one is at the end or the beginning.
void padToSameSize(NodeContext &c, Window &window, bool moreAtEnd);

/// What an average divides by if padding counts and the result's size is rounded up, so that the
/// last window may reach beyond the padding.
enum class CountedPads { Stated, WholeWindow };

/// The average of each window that the node's attributes tell; `input` has the sizes of input 0.
mlir::Value averagePool(NodeContext &c, mlir::Value input, CountedPads counted);

/// Where the elements lie that a pooling of this window found to be the largest, counted over the
/// whole input in row-major order, or with columns first inside of each image.
mlir::Value maximumPlaces(NodeContext &c, mlir::Value maximum, const Window &window,
                          bool columnsFirst);

} // namespace headrace::onnx
