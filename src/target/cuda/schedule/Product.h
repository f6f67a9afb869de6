// A reduction seen as a matrix product: which of its loops are rows, columns and depth.
#pragma once

#include "target/cuda/schedule/Reads.h"

namespace headrace::cuda {

/// C[batch, m, n] += A[batch, m, k] * B[batch, k, n]; each of m, n, k is a list of loops, walked as
/// one, the last fastest. A convolution has three loops for k and three for m.
struct Product {
  mlir::linalg::GenericOp op;
  mlir::OpOperand *a = nullptr, *b = nullptr;
  llvm::SmallVector<unsigned> batch, m, n, k;

  mlir::AffineExpr size(llvm::ArrayRef<unsigned> loops) const;
  /// The product of these loops' sizes, with size hints for dynamic dimensions.
  int64_t hintedSize(llvm::ArrayRef<unsigned> loops) const;
};

/// The reduction as a matmul; nothing if it is not one. The last loop of the result is one
/// of n, if it is one of m or n at all.
std::optional<Product> productOf(mlir::linalg::GenericOp op);

/// The one product on the way to `root`'s result and the dimensions of that result in terms of the
/// product's result; nothing if there is none, or other reductions.
struct FusedProduct {
  Product product;
  llvm::SmallVector<unsigned> rootDims; // for each dimension of the product's result
};
std::optional<FusedProduct> fusedProductOf(mlir::Operation *root);

} // namespace headrace::cuda
