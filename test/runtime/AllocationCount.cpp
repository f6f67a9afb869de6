#include "runtime/AllocationCount.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> allocations{0};
} // namespace

int64_t headrace::test::allocationCount() { return allocations; }

// The thread sanitizer brings operators of its own: under it nothing is counted.
#if !defined(__has_feature) || !__has_feature(thread_sanitizer)
void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif
