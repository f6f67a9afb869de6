#include "runtime/system/FileCache.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headrace {
namespace {

namespace fs = std::filesystem;

class FileCacheTest : public ::testing::Test {
protected:
  FileCacheTest()
      : folder(fs::temp_directory_path() / ("headrace-cache-" + std::to_string(getpid()))) {
    fs::create_directories(folder);
  }
  ~FileCacheTest() override { fs::remove_all(folder); }

  fs::path onlyFile() const { return fs::directory_iterator(folder)->path(); }

  fs::path folder;
};

TEST_F(FileCacheTest, ReturnsWhatWasStored) {
  FileCache cache(folder, "o");
  std::string key = FileCache::key({"code", "processor"});
  EXPECT_EQ(cache.find(key), std::nullopt);
  cache.store(key, "object");
  auto found = cache.find(key);
  ASSERT_NE(found, std::nullopt);
  EXPECT_EQ(*found, "object");
}

TEST_F(FileCacheTest, KeysTellPartsApart) {
  EXPECT_NE(FileCache::key({"ab", "c"}), FileCache::key({"a", "bc"}));
  EXPECT_NE(FileCache::key({"a", "x"}), FileCache::key({"a", "y"}));
}

TEST_F(FileCacheTest, DamagedFilesCountAsAbsent) {
  FileCache cache(folder, "o");
  std::string key = FileCache::key({"code", "processor"});
  cache.store(key, "a longer object than before");
  uintmax_t size = fs::file_size(onlyFile());
  for (uintmax_t length = 0; length < size; ++length) {
    cache.store(key, "a longer object than before");
    fs::resize_file(onlyFile(), length);
    EXPECT_EQ(cache.find(key), std::nullopt) << length;
  }
  cache.store(key, "a longer object than before");
  std::fstream file(onlyFile(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size) - 1);
  file.put('!');
  file.close();
  EXPECT_EQ(cache.find(key), std::nullopt);
}

TEST_F(FileCacheTest, TrimKeepsWhatWasUsedLast) {
  FileCache cache(folder, "o", 1500);
  cache.store("old", std::string(1000, 'a'));
  fs::last_write_time(onlyFile(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  cache.store("new", std::string(1000, 'b'));
  cache.trim();
  EXPECT_EQ(cache.find("old"), std::nullopt);
  EXPECT_NE(cache.find("new"), std::nullopt);
}

TEST_F(FileCacheTest, StoringKeepsTheLimit) {
  constexpr uintmax_t limit = 64 << 10;
  FileCache cache(folder, "o", limit);
  for (int i = 0; i < 3000; ++i)
    cache.store(FileCache::key({"object", std::to_string(i)}), std::string(100, 'a'));
  uintmax_t total = 0;
  for (const fs::directory_entry &file : fs::directory_iterator(folder))
    total += file.file_size();
  EXPECT_LT(total, limit + limit / 8);
  EXPECT_GT(total, limit / 2);
}

// Trimming lists the whole directory.
TEST_F(FileCacheTest, ASmallFileSeldomTrims) {
  FileCache(folder, "o").store("large", std::string(2 << 20, 'a'));
  FileCache full(folder, "o", 1 << 20);
  for (std::string_view key : {"a", "b", "c", "d"})
    full.store(FileCache::key({key}), "small");
  EXPECT_NE(full.find("large"), std::nullopt);
  full.store("another", std::string(1 << 20, 'b'));
  EXPECT_EQ(full.find("large"), std::nullopt);
}

TEST_F(FileCacheTest, AnUnwritableOrAbsentFolderIsNoError) {
  FileCache missing(folder / "missing" / "further", "o");
  missing.store("key", "object");
  EXPECT_EQ(missing.find("key"), std::nullopt);
  missing.trim();
  FileCache off(std::nullopt, "o");
  off.store("key", "object");
  EXPECT_EQ(off.find("key"), std::nullopt);
}

// HEADRACE_CACHE_DIR stays as it was, with any permissions.
TEST_F(FileCacheTest, HasAFolderOfItsOwn) {
  fs::permissions(folder, fs::perms(0755));
  ::setenv("HEADRACE_CACHE_DIR", folder.c_str(), 1);
  FileCache::user("o").store("key", "object");
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms(0755));
  fs::path own = folder / ("headrace-" + std::to_string(::geteuid()));
  EXPECT_EQ(fs::status(own).permissions(), fs::perms(0700));
  EXPECT_EQ(FileCache::user("o").find("key"), "object");
  // Files that other users may have written are not used, and not changed either.
  fs::permissions(own, fs::perms(0777));
  EXPECT_EQ(FileCache::user("o").find("key"), std::nullopt);
  EXPECT_EQ(fs::status(own).permissions(), fs::perms(0777));
  fs::remove_all(own);
  fs::create_directory(folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", own);
  FileCache::user("o").store("key", "object");
  EXPECT_TRUE(fs::is_empty(folder / "elsewhere"));
  ::unsetenv("HEADRACE_CACHE_DIR");
}

} // namespace
} // namespace headrace
