#include "package/Checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace headrace {

std::string checksum(Bytes data) {
  uint64_t value = XXH3_64bits(data.data(), data.size());
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[(value >> shift) & 15];
  return text;
}

} // namespace headrace
