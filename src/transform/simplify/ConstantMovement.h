// Moving the elements of constants in their own type: weights are large, and most are only moved.
#pragma once

#include "runtime/tensor/Tensor.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace headrace {

/// The constant under another shape, nothing copied; null for kinds of constants it does not know.
mlir::ElementsAttr reshapeConstant(mlir::ElementsAttr value, mlir::RankedTensorType type);

/// A constant that repeats one element, whatever holds it; null for any other.
mlir::SplatElementsAttr asSplat(mlir::ElementsAttr value);

/// The transposed elements: result dimension i is dimension permutation[i] of the input.
Tensor transposedCopy(const Tensor &input, llvm::ArrayRef<int64_t> permutation);

} // namespace headrace
