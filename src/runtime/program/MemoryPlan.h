#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

/// A buffer that must keep its contents from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes;
  int first, last;
};

/// Where each buffer lies in one arena.
struct MemoryPlan {
  std::vector<int64_t> offsets; // one per buffer, 64-byte aligned
  int64_t totalBytes = 0;       // the arena
  int64_t unsharedBytes = 0;    // what separate buffers would take
};

/// Buffers alive at the same step never overlap; others share memory. Largest first, each into
/// the tightest gap that its contemporaries leave.
MemoryPlan planMemory(std::span<const Lifetime> lifetimes);

} // namespace headrace
