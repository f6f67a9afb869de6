#include "target/cpu/ObjectCache.h"

#include "runtime/AtomicWrite.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr llvm::StringLiteral kMagic = "headrace-object-1\n";
constexpr size_t kDigestLength = 64;

std::string digest(llvm::ArrayRef<llvm::StringRef> parts) {
  llvm::SHA256 hash;
  for (llvm::StringRef part : parts) {
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::optional<fs::path> userFolder() {
  if (const char *given = std::getenv("HEADRACE_CACHE_DIR"))
    return *given ? std::optional<fs::path>(given) : std::nullopt;
  if (const char *xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg)
    return fs::path(xdg) / "headrace";
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "headrace";
  return std::nullopt;
}

} // namespace

ObjectCache ObjectCache::user() {
  std::optional<fs::path> folder = userFolder();
  std::error_code error;
  if (folder) {
    fs::create_directories(*folder, error);
    // Objects are code: nobody else may write here.
    if (!error)
      fs::permissions(*folder, fs::perms::owner_all, error);
    if (error)
      folder.reset();
  }
  return ObjectCache(folder);
}

std::string ObjectCache::key(llvm::StringRef code, llvm::StringRef processor) {
  // To be raised when the same text becomes other code.
  constexpr llvm::StringLiteral kGenerator = "2";
  return digest({LLVM_VERSION_STRING, kGenerator, processor, code});
}

fs::path ObjectCache::fileOf(llvm::StringRef key) const { return *folder / (key.str() + ".o"); }

std::unique_ptr<llvm::MemoryBuffer> ObjectCache::find(llvm::StringRef key) const {
  if (!folder)
    return nullptr;
  fs::path path = fileOf(key);
  auto file = llvm::MemoryBuffer::getFile(path.string(), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return nullptr;
  llvm::StringRef content = (*file)->getBuffer();
  if (!content.consume_front(kMagic) || content.size() < kDigestLength)
    return nullptr;
  llvm::StringRef expected = content.take_front(kDigestLength);
  llvm::StringRef object = content.drop_front(kDigestLength);
  if (digest({key, object}) != expected)
    return nullptr;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return llvm::MemoryBuffer::getMemBufferCopy(object, path.string());
}

void ObjectCache::store(llvm::StringRef key, llvm::StringRef object) const {
  if (!folder)
    return;
  std::string content = kMagic.str() + digest({key, object}) + object.str();
  try {
    writeFileAtomically(fileOf(key), {std::as_bytes(std::span(content))});
  } catch (const std::exception &) {
    // A full or read-only disk costs time on the next run, nothing else.
  }
}

void ObjectCache::trim(uintmax_t bytes) const {
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
    if (file.path().extension() != ".o")
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
    if (total <= bytes)
      return;
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

} // namespace headrace
