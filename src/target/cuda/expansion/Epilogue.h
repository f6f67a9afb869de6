// The epilogue of a product, which a library computes in the same call.
#pragma once

#include "dialect/Hr.h"
#include "runtime/cuda/DeviceLibrary.h"

namespace headrace::cuda {

/// result = activation(product + bias + residual), rounded once, at the end.
struct Epilogue {
  mlir::Value bias;     // one f32 per column, with leading dimensions of size 1
  mlir::Value residual; // of the result's type
  CuDnnActivation activation = CuDnnActivation::None;
  llvm::SmallVector<hr::MapOp> maps; // that compute it, in order; the last yields the result

  /// What has the result: the last map's, else the product's own.
  mlir::Value result(mlir::Operation *product) const;
};

/// The longest epilogue of a product in f16 or bf16 whose values nothing else reads.
///   %c = hr.conv ; %w = hr.map(%c) { extf } ; %b = hr.map(%w, %bias) { addf } ; %n = hr.map(%b) {
///   truncf } ; %y = hr.map(%n) { maximumf 0 }
/// is one of four maps: a bias and Relu.
Epilogue epilogueOf(mlir::Operation *product);

} // namespace headrace::cuda
