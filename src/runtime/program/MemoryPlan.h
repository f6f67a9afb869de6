#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A buffer that must keep its contents from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes;
  int first, last;
};

/// Where each buffer is in its arena.
struct MemoryPlan {
  std::vector<int64_t> offsets; // one per buffer, 64-byte aligned
  int64_t totalBytes = 0;       // of all arenas
  int64_t unsharedBytes = 0;    // what separate buffers would take
  /// The bytes of each engine's arena, for the plan of a program.
  std::map<std::string, int64_t, std::less<>> arenas;

  int64_t arenaBytes(std::string_view engine) const {
    auto found = arenas.find(engine);
    return found == arenas.end() ? 0 : found->second;
  }
};

/// In one arena. Buffers alive at the same step never overlap; others share memory. Largest first,
/// each into the tightest gap that its contemporaries leave.
MemoryPlan planMemory(std::span<const Lifetime> lifetimes);

} // namespace headrace
