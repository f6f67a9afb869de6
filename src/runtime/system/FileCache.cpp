#include "runtime/system/FileCache.h"

#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace headrace {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "headrace-cache-1\n";
constexpr size_t digestLength = 32;

// 128 bits: two different texts do not meet by chance, and no other user may write to the
// directory.
std::string digest(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (std::string_view part : parts) {
    all += std::to_string(part.size()) + ":";
    all += part;
  }
  XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  std::string text;
  for (uint64_t word : {hash.high64, hash.low64})
    for (int shift = 60; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[(word >> shift) & 15];
  return text;
}

std::optional<fs::path> userFolder() {
  // Our own directory below whatever is given: /tmp and the like stay as they are.
  if (const char *given = std::getenv("HEADRACE_CACHE_DIR"))
    return *given ? std::optional(fs::path(given) / ("headrace-" + std::to_string(::geteuid())))
                  : std::nullopt;
  if (const char *xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg)
    return fs::path(xdg) / "headrace";
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "headrace";
  return std::nullopt;
}

} // namespace

// The cache holds code: a directory that another user made, or may write to, could hold anything.
bool makePrivateFolder(const fs::path &folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return false;
  struct stat status{};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<fs::path> userCacheFolder() {
  std::optional<fs::path> folder = userFolder();
  if (folder && !makePrivateFolder(*folder))
    folder.reset();
  return folder;
}

FileCache FileCache::user(std::string extension, uintmax_t limit) {
  return FileCache(userCacheFolder(), std::move(extension), limit);
}

std::string FileCache::key(std::initializer_list<std::string_view> parts) { return digest(parts); }

fs::path FileCache::fileOf(const std::string &key) const {
  return *folder / (key + "." + extension);
}

std::optional<std::string> FileCache::find(const std::string &key) const {
  if (!folder)
    return std::nullopt;
  std::ifstream file(fileOf(key), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!text.starts_with(magic) || text.size() < magic.size() + digestLength)
    return std::nullopt;
  std::string content = text.substr(magic.size() + digestLength);
  if (text.compare(magic.size(), digestLength, digest({key, content})) != 0)
    return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(fileOf(key), fs::file_time_type::clock::now(), ignored);
  return content;
}

bool FileCache::isDamaged(const std::string &key) const {
  std::error_code ignored;
  return folder && fs::exists(fileOf(key), ignored) && !find(key);
}

void FileCache::store(const std::string &key, std::string_view content) const {
  if (!folder)
    return;
  std::string head = std::string(magic) + digest({key, content});
  try {
    writeFileAtomically(fileOf(key),
                        {std::as_bytes(std::span(head)), std::as_bytes(std::span(content))});
  } catch (const Error &) { // NOLINT(bugprone-empty-catch)
    // A full or read-only disk costs time on the next run, nothing else.
  }
  if (isTurnToTrim(key, head.size() + content.size()))
    trim();
}

// Trimming looks at every file, of which there may be ten thousands: once for each sixty-fourth of
// the limit that is written, on average. The key is the coin, so that processes that share the
// directory need no count of what they all wrote.
bool FileCache::isTurnToTrim(const std::string &key, size_t bytes) const {
  double drawn = std::ldexp(static_cast<double>(XXH3_64bits(key.data(), key.size())), -64);
  return drawn * (static_cast<double>(limit) / 64) < static_cast<double>(bytes);
}

void FileCache::trim() const {
  if (!folder)
    return;
  struct Entry {
    fs::file_time_type used;
    uintmax_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  uintmax_t total = 0;
  std::error_code error;
  for (const fs::directory_entry &file : fs::directory_iterator(*folder, error)) {
    if (file.path().extension() != "." + extension)
      continue;
    Entry entry{file.last_write_time(error), file.file_size(error), file.path()};
    if (error)
      continue;
    total += entry.size;
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= limit)
      return;
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

} // namespace headrace
