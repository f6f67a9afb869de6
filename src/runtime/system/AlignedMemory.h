#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headrace {

/// Alignment for vector loads and cache lines; outputs, temporaries and workspaces start on it.
inline constexpr size_t memoryAlignment = 64;

/// The next multiple of the alignment.
constexpr int64_t alignUp(int64_t bytes) {
  constexpr auto mask = static_cast<int64_t>(memoryAlignment) - 1;
  return (bytes + mask) & ~mask;
}

/// Frees or caches a block of allocateAligned.
struct FreeMemory {
  size_t bytes = 0;
  void operator()(void *memory) const;
};
using AlignedMemory = std::unique_ptr<std::byte, FreeMemory>;

/// Uninitialised and never null, also for 0 bytes; throws Error, naming `what`, when the system
/// rejects. A few large blocks are kept when freed and handed out again: fresh memory costs a page
/// fault per 4 KiB, more than many a kernel takes to fill it.
AlignedMemory allocateAligned(size_t bytes, const char *what);

/// Bytes that are kept now; at most keptMemoryLimit.
size_t keptMemory();
inline constexpr size_t keptMemoryLimit = size_t{256} << 20;
/// Gives those back to the system, and with them what the C library's allocator keeps: after a
/// compilation, whose blocks are not those that running takes. Takes milliseconds.
void returnKeptMemory();

} // namespace headrace
