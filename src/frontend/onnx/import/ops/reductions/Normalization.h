// Means and deviations, which normalizations of several domains are made of.
#pragma once

#include "frontend/onnx/import/ops/Composing.h"

namespace headrace::onnx {

struct Statistics {
  mlir::Value mean, variance; // the axes are kept, of size 1
};
Statistics statistics(NodeContext &c, mlir::Value x, llvm::ArrayRef<int64_t> axes);

/// 1 / sqrt(variance + epsilon).
mlir::Value inverseDeviation(NodeContext &c, mlir::Value variance, double epsilon);

struct RootMeanSquare {
  mlir::Value normal, inverse;
};
/// x / sqrt(mean of squares + epsilon) * scale, and the factor before the scale.
RootMeanSquare rootMeanSquare(NodeContext &c, mlir::Value x, mlir::Value scale,
                              llvm::ArrayRef<int64_t> axes, double epsilon);

/// The axes of input 0 from attribute `axis` on.
llvm::SmallVector<int64_t> axesFrom(NodeContext &c);

} // namespace headrace::onnx
