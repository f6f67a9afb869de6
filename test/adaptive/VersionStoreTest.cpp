#include "adaptive/VersionStore.h"

#include <gtest/gtest.h>
#include <string>

namespace headrace::adaptive {
namespace {

using Store = VersionStore<int, const std::string>;

std::shared_ptr<const std::string> text(const char *value) {
  return std::make_shared<const std::string>(value);
}

TEST(VersionStore, DropsTheLeastRecentlyUsed) {
  Store store(2);
  store.add(1, text("one"));
  store.add(2, text("two"));
  ASSERT_TRUE(store.find(1)); // used after 2
  store.add(3, text("three"));
  EXPECT_TRUE(store.find(1));
  EXPECT_FALSE(store.find(2));
  EXPECT_EQ(store.size(), 2u);
}

TEST(VersionStore, BoundsTheVersionsOfOneKey) {
  Store store(10, nullptr, /*maxPerKey=*/2);
  store.add(7, text("other"));
  for (const char *value : {"a", "b", "c"})
    store.add(1, text(value));
  auto kept = store.versions(1);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(*kept[0], "c");
  EXPECT_EQ(*kept[1], "b");
  EXPECT_TRUE(store.find(7));
}

TEST(VersionStore, FindsTheMostRecentlyUsedThatFits) {
  Store store(10);
  store.add(1, text("a"));
  store.add(1, text("ab"));
  auto startsWithA = [](int key, const std::string &value) {
    return key == 1 && value.starts_with('a');
  };
  EXPECT_EQ(*store.findIf(startsWithA), "ab");
  EXPECT_EQ(*store.findIf([](int, const std::string &value) { return value == "a"; }), "a");
  EXPECT_EQ(*store.findIf(startsWithA), "a") << "used last";
  EXPECT_FALSE(store.findIf([](int key, const std::string &) { return key == 2; }));
}

TEST(VersionStore, KeepsNoneButThoseInUseAlive) {
  Store store(1);
  store.add(1, text("one"));
  auto used = store.find(1);
  std::weak_ptr<const std::string> watched = used;
  store.add(2, text("two"));
  EXPECT_FALSE(watched.expired());
  used = nullptr;
  EXPECT_TRUE(watched.expired());
}

TEST(VersionStore, StaysBoundedOverManyKeys) {
  Store store(16);
  for (int key = 0; key < 10'000; ++key)
    store.add(key, text("x"));
  EXPECT_EQ(store.size(), 16u);
}

} // namespace
} // namespace headrace::adaptive
