#include "runtime/system/AlignedMemory.h"

#include <gtest/gtest.h>
#include <vector>

namespace headrace {
namespace {

TEST(AlignedMemory, IsAlignedForEverySize) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{1} << 20}) {
    AlignedMemory memory = allocateAligned(bytes, "test");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % memoryAlignment, 0U);
  }
}

TEST(AlignedMemory, BlocksInUseAreNeverHandedOutTwice) {
  constexpr size_t bytes = 1 << 20;
  std::vector<AlignedMemory> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(allocateAligned(bytes, "test"));
    std::fill_n(held.back().get(), bytes, static_cast<std::byte>(i));
    allocateAligned(bytes, "test"); // freed at once, so that there is something to hand out
  }
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(held[i].get()[bytes / 2], static_cast<std::byte>(i));
}

TEST(AlignedMemory, KeepsNoMoreThanItsLimit) {
  std::vector<AlignedMemory> held;
  for (int i = 0; i < 12; ++i)
    held.push_back(allocateAligned(size_t{32} << 20, "test"));
  held.clear();
  EXPECT_LE(keptMemory(), keptMemoryLimit);
}

TEST(AlignedMemory, AReusedBlockIsLargeEnough) {
  {
    allocateAligned((size_t{1} << 20) + 4096, "test");
  }
  AlignedMemory memory = allocateAligned(size_t{1} << 20, "test");
  EXPECT_GE(memory.get_deleter().bytes, size_t{1} << 20);
}

} // namespace
} // namespace headrace
