#include "target/cpu/ObjectCache.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headrace {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public ::testing::Test {
protected:
  ObjectCacheTest()
      : folder(fs::temp_directory_path() / ("headrace-cache-" + std::to_string(getpid()))) {
    fs::create_directories(folder);
  }
  ~ObjectCacheTest() override { fs::remove_all(folder); }

  fs::path onlyFile() const { return fs::directory_iterator(folder)->path(); }

  fs::path folder;
};

TEST_F(ObjectCacheTest, ReturnsWhatWasStored) {
  ObjectCache cache(folder);
  std::string key = ObjectCache::key("code", "processor");
  EXPECT_EQ(cache.find(key), nullptr);
  cache.store(key, "object");
  auto found = cache.find(key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->getBuffer(), "object");
}

TEST_F(ObjectCacheTest, KeysTellCodeAndProcessorApart) {
  EXPECT_NE(ObjectCache::key("ab", "c"), ObjectCache::key("a", "bc"));
  EXPECT_NE(ObjectCache::key("a", "x"), ObjectCache::key("a", "y"));
}

TEST_F(ObjectCacheTest, DamagedFilesCountAsAbsent) {
  ObjectCache cache(folder);
  std::string key = ObjectCache::key("code", "processor");
  cache.store(key, "a longer object than before");
  uintmax_t size = fs::file_size(onlyFile());
  for (uintmax_t length = 0; length < size; ++length) {
    cache.store(key, "a longer object than before");
    fs::resize_file(onlyFile(), length);
    EXPECT_EQ(cache.find(key), nullptr) << length;
  }
  cache.store(key, "a longer object than before");
  std::fstream file(onlyFile(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size) - 1);
  file.put('!');
  file.close();
  EXPECT_EQ(cache.find(key), nullptr);
}

TEST_F(ObjectCacheTest, TrimKeepsWhatWasUsedLast) {
  ObjectCache cache(folder);
  cache.store("old", std::string(1000, 'a'));
  fs::last_write_time(onlyFile(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  cache.store("new", std::string(1000, 'b'));
  cache.trim(1500);
  EXPECT_EQ(cache.find("old"), nullptr);
  EXPECT_NE(cache.find("new"), nullptr);
}

TEST_F(ObjectCacheTest, AnUnwritableOrAbsentFolderIsNoError) {
  ObjectCache missing(folder / "missing" / "further");
  missing.store("key", "object");
  EXPECT_EQ(missing.find("key"), nullptr);
  missing.trim();
  ObjectCache off(std::nullopt);
  off.store("key", "object");
  EXPECT_EQ(off.find("key"), nullptr);
}

} // namespace
} // namespace headrace
