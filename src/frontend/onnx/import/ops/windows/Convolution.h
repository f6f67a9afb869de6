// Convolutions and their attributes, which operators of several domains and types share.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

struct ConvolutionAttributes {
  llvm::SmallVector<int64_t> strides, dilations;
  llvm::SmallVector<int64_t> pads; // all low ones, then all high ones
  int64_t groups = 1;
};

/// Of a node whose image is input 0 and whose filter is input `filter`; both are checked.
ConvolutionAttributes readConvolution(NodeContext &c, size_t filter);

/// A list with one value for each feature, in a shape that broadcasts along the result's features.
mlir::Value perFeature(NodeContext &c, mlir::Value values, int64_t spatialRank);

/// The convolution of input 0 with filter 1, of floats, and where it has an input 2, with that
/// bias.
mlir::Value convolution(NodeContext &c);

} // namespace headrace::onnx
