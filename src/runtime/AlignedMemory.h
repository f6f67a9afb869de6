#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headrace {

/// What vector loads and cache lines want; outputs, temporaries and workspaces start on it.
inline constexpr size_t memoryAlignment = 64;

constexpr int64_t alignUp(int64_t bytes) {
  constexpr auto mask = static_cast<int64_t>(memoryAlignment) - 1;
  return (bytes + mask) & ~mask;
}

struct FreeMemory {
  void operator()(void *memory) const;
};
using AlignedMemory = std::unique_ptr<std::byte, FreeMemory>;

/// Uninitialised and never null, also for 0 bytes; throws Error, naming `what`, when the system
/// refuses.
AlignedMemory allocateAligned(size_t bytes, const char *what);

} // namespace headrace
