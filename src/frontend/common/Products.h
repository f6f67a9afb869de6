// Products of matrices and tensors, all written as contractions.
#pragma once

#include "frontend/common/OperatorBuilder.h"

namespace headrace {

/// The sum of products of two tensors whose dimensions have letters, as in "mk", "kn" and "mn":
/// dimensions that the result lacks are summed over, in the type `accumulator` if one is given.
mlir::Value contract(OperatorBuilder &b, mlir::Value lhs, mlir::Value rhs, llvm::StringRef lhsDims,
                     llvm::StringRef rhsDims, llvm::StringRef resultDims,
                     mlir::Type accumulator = {});

/// NumPy's product of matrices: leading dimensions broadcast, a vector has one dimension less.
mlir::Value matrixProduct(OperatorBuilder &b, mlir::Value lhs, mlir::Value rhs,
                          mlir::Type accumulator = {});

} // namespace headrace
