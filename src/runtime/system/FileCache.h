// Results that took long, kept on disk between runs of a program.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

/// Makes a directory that only its owner may write to; the directory it is in, too, if that is not
/// there. False if there is something else of that name: a link, or a directory that others own or
/// may write to. An existing directory or file is never changed.
bool makePrivateFolder(const std::filesystem::path &folder);

/// The user's directory for caches (FileCache::user); nothing if there is none.
std::optional<std::filesystem::path> userCacheFolder();

/// A directory of files by key, of about `limit` bytes in all. They are written atomically and
/// checked when read: a damaged or foreign one counts as absent. A failure here never fails the
/// caller.
class FileCache {
public:
  static constexpr uintmax_t defaultLimit = uintmax_t{256} << 20;

  /// The user's cache: `headrace-UID` in HEADRACE_CACHE_DIR, else `headrace` in XDG_CACHE_HOME or
  /// ~/.cache, made for the user alone if it is not there. HEADRACE_CACHE_DIR set to nothing
  /// switches it off, and so does a directory that is not the user's own. `extension` keeps kinds
  /// of files apart.
  static FileCache user(std::string extension, uintmax_t limit = defaultLimit);
  FileCache(std::optional<std::filesystem::path> folder, std::string extension,
            uintmax_t limit = defaultLimit)
      : folder(std::move(folder)), extension(std::move(extension)), limit(limit) {}

  /// The key of a result: a hash of everything that it was made from.
  static std::string key(std::initializer_list<std::string_view> parts);

  std::optional<std::string> find(const std::string &key) const;
  /// Whether there is a file of that key which is not what `store` wrote.
  bool isDamaged(const std::string &key) const;
  /// Trims now and then: the files exceed the limit by a sixteenth or so at most.
  void store(const std::string &key, std::string_view content) const;
  /// Removes the files not used for longest until at most `limit` bytes remain.
  void trim() const;

private:
  bool isTurnToTrim(const std::string &key, size_t bytes) const;
  std::filesystem::path fileOf(const std::string &key) const;

  std::optional<std::filesystem::path> folder;
  std::string extension;
  uintmax_t limit;
};

} // namespace headrace
