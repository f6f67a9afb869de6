#include "adaptive/Signature.h"

#include <algorithm>

namespace headrace::adaptive {

bool SizePlace::isSymbol(int64_t size, const SizePolicy &policy) {
  if (size < 2)
    return false;
  if (size > policy.maxConstant)
    return true;
  isChanging |= seen && *seen != size;
  seen = size;
  return isChanging;
}

std::optional<size_t> Signature::addSize(int64_t size, SizePlace &place, const SizePolicy &policy) {
  if (!place.isSymbol(size, policy)) {
    code.push_back(2 * size);
    return std::nullopt;
  }
  auto found = std::ranges::find(values, size);
  auto symbol = static_cast<size_t>(found - values.begin());
  if (found == values.end())
    values.push_back(size);
  code.push_back(2 * static_cast<int64_t>(symbol) + 1);
  return symbol;
}

std::vector<std::optional<int64_t>> generalSizes(const std::vector<int64_t> &sizes) {
  std::vector<std::optional<int64_t>> general;
  for (int64_t size : sizes) {
    SizePlace place;
    general.push_back(place.isSymbol(size, SizePolicy::open()) ? std::nullopt
                                                               : std::optional(size));
  }
  return general;
}

} // namespace headrace::adaptive
