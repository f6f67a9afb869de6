#include "runtime/program/MemoryPlan.h"

#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace headrace {

namespace {

struct Placed {
  int64_t begin, end;
  int first, last;
};

// The start of the tightest gap between `placed` (by offset) that holds `bytes` during the
// lifetime; behind all of them if there is none.
int64_t tightestGap(const std::vector<Placed> &placed, const Lifetime &lifetime, int64_t bytes) {
  int64_t best = -1, bestSize = std::numeric_limits<int64_t>::max();
  int64_t free = 0; // the end of what is taken so far
  for (const Placed &other : placed) {
    if (other.last < lifetime.first || lifetime.last < other.first)
      continue;
    int64_t gap = other.begin - free;
    if (gap >= bytes && gap < bestSize) {
      best = free;
      bestSize = gap;
    }
    free = std::max(free, other.end);
  }
  return best >= 0 ? best : free;
}

} // namespace

MemoryPlan planMemory(std::span<const Lifetime> lifetimes) {
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  for (const Lifetime &lifetime : lifetimes) {
    if (lifetime.bytes < 0 || lifetime.first > lifetime.last)
      throw InternalError("a buffer of " + std::to_string(lifetime.bytes) +
                          " bytes lives from step " + std::to_string(lifetime.first) + " to " +
                          std::to_string(lifetime.last));
    // Their sum bounds every offset, so nothing below can overflow.
    if (lifetime.bytes > std::numeric_limits<int64_t>::max() / 2 ||
        __builtin_add_overflow(plan.unsharedBytes, alignUp(lifetime.bytes), &plan.unsharedBytes))
      throw Error(ErrorKind::InvalidArgument,
                  "the intermediate results of these input sizes exceed 2^63 bytes");
  }

  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].bytes != lifetimes[b].bytes ? lifetimes[a].bytes > lifetimes[b].bytes
                                                    : a < b;
  });

  std::vector<Placed> placed; // by offset
  for (size_t index : order) {
    const Lifetime &lifetime = lifetimes[index];
    int64_t bytes = alignUp(lifetime.bytes);
    if (bytes == 0)
      continue;
    int64_t begin = tightestGap(placed, lifetime, bytes);
    plan.offsets[index] = begin;
    plan.totalBytes = std::max(plan.totalBytes, begin + bytes);
    Placed entry{begin, begin + bytes, lifetime.first, lifetime.last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed &a, const Placed &b) { return a.begin < b.begin; }),
        entry);
  }
  return plan;
}

} // namespace headrace
