#include "runtime/AlignedMemory.h"

#include "runtime/Error.h"

#include <cstdlib>

namespace headrace {

void FreeMemory::operator()(void *memory) const { std::free(memory); }

AlignedMemory allocateAligned(size_t bytes, const char *what) {
  size_t rounded = (bytes + memoryAlignment - 1) / memoryAlignment * memoryAlignment;
  if (rounded == 0)
    rounded = memoryAlignment;
  void *memory = rounded < bytes ? nullptr : std::aligned_alloc(memoryAlignment, rounded);
  if (!memory)
    throw Error(ErrorKind::InvalidArgument, std::string(what) + ": expected to allocate " +
                                                std::to_string(bytes) +
                                                " bytes, but the system has no such memory left");
  return AlignedMemory(static_cast<std::byte *>(memory));
}

} // namespace headrace
