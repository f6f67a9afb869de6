#include "dialect/Permutation.h"

using namespace mlir;

namespace headrace {

Permutation inverse(ArrayRef<int64_t> permutation) {
  Permutation result(permutation.size());
  for (auto [i, dim] : llvm::enumerate(permutation))
    result[dim] = static_cast<int64_t>(i);
  return result;
}

Permutation channelsLastPermutation(int64_t rank) {
  Permutation permutation{0};
  for (int64_t i = 2; i < rank; ++i)
    permutation.push_back(i);
  permutation.push_back(1);
  return permutation;
}

bool movesUnitDimsOnly(RankedTensorType type, ArrayRef<int64_t> permutation) {
  int64_t last = -1;
  for (int64_t dim : permutation) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

} // namespace headrace
