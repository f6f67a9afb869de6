#include "runtime/system/AlignedMemory.h"

#include "runtime/system/AvailableMemory.h"

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

TEST(AlignedMemory, MoreThanThereIsIsRefusedWithBothSizes) {
  std::optional<size_t> available = availableMemory();
  ASSERT_TRUE(available);
  EXPECT_GT(*available, size_t{1} << 20);
  size_t bytes = *available + (size_t{1} << 40);
  try {
    allocateAligned(bytes, "test");
    FAIL() << "no error was thrown";
  } catch (const OutOfMemory &error) {
    EXPECT_EQ(error.bytes(), bytes);
    EXPECT_EQ(std::string(error.what()), "test: " + error.need());
    EXPECT_EQ(error.need().find("needs " + memoryText(bytes) + ", "), 0U);
    EXPECT_NE(error.need().find(" are available"), std::string::npos);
    EXPECT_NE(error.withPurpose("a", "b").need().find(" for b, "), std::string::npos);
  }
}

TEST(AlignedMemory, MemoryHasAUnit) {
  EXPECT_EQ(memoryText(12), "12 B");
  EXPECT_EQ(memoryText(8'000'800'000), "8.0 GB");
}

} // namespace
} // namespace headrace
