#include "runtime/system/AlignedMemory.h"

#include "runtime/system/AvailableMemory.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Rounding.h"
#include "runtime/system/Sanitized.h"

#include <cstdlib>
#include <list>
#include <mutex>
#include <sys/mman.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace headrace {
namespace {

constexpr size_t worthKeeping = size_t{256} << 10;
constexpr size_t hugePage = size_t{2} << 20;
constexpr size_t worthHugePages = 2 * hugePage;

/// Asks for pages of 2 MB: the system clears a large block in fewer steps at its first use, and the
/// processor finds the pages by itself. No more than advice: the system may have none.
void adviseHugePages([[maybe_unused]] void *memory, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  ::madvise(memory, bytes / hugePage * hugePage, MADV_HUGEPAGE);
#endif
}

constexpr bool keepsBlocks = !checksAccesses; // reuse would hide use after free

/// Freed blocks, most recently freed first.
class BlockStore {
public:
  /// A block of at least `bytes`, and not much more; null if there is none.
  void *take(size_t bytes, size_t &blockBytes) {
    std::lock_guard lock(mutex);
    for (auto it = blocks.begin(); it != blocks.end(); ++it)
      if (it->bytes >= bytes && it->bytes - bytes <= bytes / 4) {
        void *memory = it->memory;
        blockBytes = it->bytes;
        total -= it->bytes;
        blocks.erase(it);
        return memory;
      }
    return nullptr;
  }

  void give(void *memory, size_t bytes) {
    std::list<Block> dropped;
    {
      std::lock_guard lock(mutex);
      blocks.push_front({memory, bytes});
      total += bytes;
      while (total > keptMemoryLimit) {
        total -= blocks.back().bytes;
        dropped.splice(dropped.begin(), blocks, std::prev(blocks.end()));
      }
    }
    for (const Block &block : dropped)
      std::free(block.memory);
  }

  void clear() {
    std::list<Block> dropped;
    {
      std::lock_guard lock(mutex);
      dropped.swap(blocks);
      total = 0;
    }
    for (const Block &block : dropped)
      std::free(block.memory);
  }

  size_t size() {
    std::lock_guard lock(mutex);
    return total;
  }

private:
  struct Block {
    void *memory;
    size_t bytes;
  };
  ForkSafeMutex mutex;
  std::list<Block> blocks;
  size_t total = 0;
};

/// Never destroyed: tensors may be freed while the process ends.
BlockStore &store() {
  static auto *blocks = new BlockStore;
  return *blocks;
}

} // namespace

void FreeMemory::operator()(void *memory) const {
  if (keepsBlocks && bytes >= worthKeeping)
    store().give(memory, bytes);
  else
    std::free(memory);
}

/// Memory that there is not is rejected at once: a system that promises it would end the process
/// when the memory is first used.
static void checkAvailable(size_t bytes, const char *what) {
  constexpr size_t worthChecking = size_t{64} << 20;
  if (bytes < worthChecking)
    return;
  auto fits = [&](std::optional<size_t> available) { return !available || bytes <= *available; };
  if (fits(availableMemory()))
    return;
  returnKeptMemory();
  if (std::optional<size_t> available = availableMemory(); !fits(available))
    throw OutOfMemory(what, bytes, available);
}

AlignedMemory allocateAligned(size_t bytes, const char *what) {
  if (checksAccesses) {
    void *exact = nullptr;
    if (posix_memalign(&exact, memoryAlignment, bytes) == 0)
      return {static_cast<std::byte *>(exact), FreeMemory{bytes}};
  }
  size_t rounded = roundedUp<size_t>(bytes, memoryAlignment);
  if (rounded == 0)
    rounded = memoryAlignment;
  void *memory = nullptr;
  if (keepsBlocks && rounded >= worthKeeping) {
    size_t blockBytes = 0;
    memory = store().take(rounded, blockBytes);
    if (memory)
      return {static_cast<std::byte *>(memory), FreeMemory{blockBytes}};
  }
  checkAvailable(bytes, what);
  if (rounded >= bytes)
    memory = std::aligned_alloc(rounded >= worthHugePages ? hugePage : memoryAlignment, rounded);
  if (memory && rounded >= worthHugePages)
    adviseHugePages(memory, rounded);
  if (!memory)
    throw OutOfMemory(what, bytes, std::nullopt);
  return {static_cast<std::byte *>(memory), FreeMemory{rounded}};
}

size_t keptMemory() { return store().size(); }

void returnKeptMemory() {
  store().clear();
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

} // namespace headrace
