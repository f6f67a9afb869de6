// Permutations of dimensions.
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace headrace {

using Permutation = llvm::SmallVector<int64_t>;

/// `values` in the order of the permutation: element i is values[permutation[i]].
template <class T>
llvm::SmallVector<T> permuted(llvm::ArrayRef<T> values, llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<T> result;
  for (int64_t i : permutation)
    result.push_back(values[i]);
  return result;
}
Permutation inverse(llvm::ArrayRef<int64_t> permutation);

/// [N, C, spatial...] -> [N, spatial..., C]; its inverse goes back.
Permutation channelsLastPermutation(int64_t rank);

/// Whether transposing a tensor of this type keeps the order of its elements in memory.
bool movesUnitDimsOnly(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> permutation);

} // namespace headrace
