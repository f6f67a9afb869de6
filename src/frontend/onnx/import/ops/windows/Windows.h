// Windows that slide over the spatial dimensions of an image.
#pragma once

#include "frontend/onnx/import/ops/windows/Convolution.h"

namespace headrace::onnx {

/// How a window slides; `pads` holds all low pads, then all high ones, as in ONNX.
struct Window {
  llvm::SmallVector<int64_t> size, strides, dilations, pads;

  size_t rank() const { return size.size(); }
  /// From the first to the last element that the window reads, inclusive.
  int64_t extent(size_t i) const { return (size[i] - 1) * dilations[i] + 1; }
};

/// The number of spatial dimensions of input 0, which are all but batch and channels.
size_t spatialRank(NodeContext &c);

/// A list of `count` numbers from `least` on.
llvm::SmallVector<int64_t> windowNumbers(NodeContext &c, const char *attribute, size_t count,
                                         int64_t otherwise, int64_t least);

/// The average of each window that the node's attributes tell; `input` has the sizes of input 0.
mlir::Value averagePool(NodeContext &c, mlir::Value input);

/// Where the elements lie that a pooling of this window found to be the largest, counted over the
/// whole input in row-major order, or with columns first inside of each image.
mlir::Value maximumPlaces(NodeContext &c, mlir::Value maximum, const Window &window,
                          bool columnsFirst);

} // namespace headrace::onnx
