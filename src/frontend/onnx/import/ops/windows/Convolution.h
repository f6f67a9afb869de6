// Convolutions and their attributes, which operators of several domains and types share.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

/// How a window slides; `pads` holds all low pads, then all high ones, as in ONNX.
struct Window {
  llvm::SmallVector<int64_t> size, strides, dilations, pads;
  /// Pads that depend on dynamic dimensions, by spatial dimension; `pads` holds the largest ones
  /// then.
  struct OpenPads {
    SymbolicShape low, paddedSizes;
  };
  std::optional<OpenPads> open = std::nullopt;

  size_t rank() const { return size.size(); }
  /// From the first to the last element that the window reads, inclusive.
  int64_t extent(size_t i) const { return (size[i] - 1) * dilations[i] + 1; }
};

struct ConvolutionAttributes : Window {
  int64_t groups = 1;
};

/// Reads the attributes of a node whose image is input 0 and whose filter is input `filter`; both
/// are checked.
ConvolutionAttributes readConvolution(NodeContext &c, size_t filter);

/// The image with the pads that depend on dynamic dimensions as elements of this value, which the
/// window no longer has then; other pads stay the window's.
mlir::Value padOpenSizes(NodeContext &c, mlir::Value image, Window &window, mlir::TypedAttr value);

/// A list with one value for each feature, in a shape that broadcasts along the result's features.
mlir::Value perFeature(NodeContext &c, mlir::Value values, int64_t spatialRank);

/// The convolution of input 0 with filter 1, of floats, and if it has an input 2, with that
/// bias.
mlir::Value convolution(NodeContext &c);

void importConv(NodeContext &c);

} // namespace headrace::onnx
