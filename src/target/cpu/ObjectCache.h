// Compiled objects kept on disk between runs of a program.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace headrace {

/// A folder of objects by key. Files are written atomically and checked when read: a damaged or
/// foreign one counts as absent. Nothing here ever fails a compilation.
class ObjectCache {
public:
  /// The user's cache: HEADRACE_CACHE_DIR, else `headrace` in XDG_CACHE_HOME or ~/.cache.
  /// HEADRACE_CACHE_DIR set to nothing switches it off.
  static ObjectCache user();
  explicit ObjectCache(std::optional<std::filesystem::path> folder) : folder(std::move(folder)) {}

  /// What identifies an object: the code it was made from, and for which processor.
  static std::string key(llvm::StringRef code, llvm::StringRef processor);

  std::unique_ptr<llvm::MemoryBuffer> find(llvm::StringRef key) const;
  void store(llvm::StringRef key, llvm::StringRef object) const;
  /// Removes the files not used for longest until at most `bytes` remain.
  void trim(uintmax_t bytes = uintmax_t{256} << 20) const;

private:
  std::filesystem::path fileOf(llvm::StringRef key) const;

  std::optional<std::filesystem::path> folder;
};

} // namespace headrace
