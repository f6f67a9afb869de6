#include "adaptive/Region.h"

#include <algorithm>
#include <cstring>

namespace headrace::adaptive {

bool isSame(const Tensor &a, const Tensor &b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || a.data() == b.data() ||
          std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

int64_t integerAt(const Tensor &tensor, size_t element) {
  return tensor.dtype() == DType::I32 ? tensor.as<int32_t>()[element]
                                      : tensor.as<int64_t>()[element];
}

Tensor asSizes(const Tensor &value, const std::vector<size_t> &open) {
  Shape shape{0};
  for (size_t element : open)
    shape.push_back(integerAt(value, element));
  return Tensor::allocate(DType::U8, std::move(shape));
}

bool NeededValue::serves(const Tensor &found) const {
  if (open.empty())
    return isSame(found, tensor);
  if (found.dtype() != tensor.dtype() || found.shape() != tensor.shape())
    return false;
  for (size_t i = 0; i < static_cast<size_t>(found.elements()); ++i) {
    bool isOpen = std::find(open.begin(), open.end(), i) != open.end();
    int64_t number = integerAt(found, i);
    if (isOpen ? number < 1 : number != integerAt(tensor, i))
      return false;
  }
  return true;
}

} // namespace headrace::adaptive
