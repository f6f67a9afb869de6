#include "frontend/onnx/import/IntegerSums.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace headrace::onnx {

static int64_t byteAt(const Tensor &bytes, int64_t i) {
  return bytes.dtype() == DType::U8 ? int64_t{bytes.as<uint8_t>()[i]}
                                    : int64_t{bytes.as<int8_t>()[i]};
}

/// Whether elements are 8-bit integers; for other types the node's import reports the error later.
static bool areBytes(const Tensor &tensor) {
  return tensor.dtype() == DType::U8 || tensor.dtype() == DType::I8;
}

int64_t largestSum(DType left, const Tensor *leftZero, const Tensor &weight,
                   const Tensor *weightZero, bool isFeatureFirst) {
  if (!areBytes(weight) || (leftZero && !areBytes(*leftZero)) ||
      (weightZero && !areBytes(*weightZero)))
    return 0;
  int64_t low = left == DType::U8 ? 0 : -128, high = low + 255;
  int64_t zero = leftZero && leftZero->elements() == 1 ? byteAt(*leftZero, 0) : 0;
  int64_t most = 0, largestLeft = std::max(zero - low, high - zero);

  const Shape &shape = weight.shape();
  size_t rank = shape.size();
  int64_t features = rank < 2 ? 1 : isFeatureFirst ? shape.front() : shape.back();
  int64_t depth = rank < 2         ? weight.elements()
                  : isFeatureFirst ? weight.elements() / std::max<int64_t>(features, 1)
                                   : shape[rank - 2];
  auto ownZero = [&](int64_t feature) {
    if (!weightZero || weightZero->elements() == 0)
      return int64_t{0};
    return byteAt(*weightZero, weightZero->elements() == features ? feature : 0);
  };
  // Several matrices, one after the other.
  int64_t lines = isFeatureFirst ? features : depth, each = isFeatureFirst ? depth : features;
  for (int64_t next = 0; next < weight.elements();) {
    std::vector<int64_t> sums(static_cast<size_t>(features));
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t i = 0; i < each; ++i, ++next) {
        int64_t feature = isFeatureFirst ? line : i;
        sums[static_cast<size_t>(feature)] += std::abs(byteAt(weight, next) - ownZero(feature));
      }
    most = std::max(most, std::ranges::max(sums));
  }
  return most * largestLeft;
}

} // namespace headrace::onnx
