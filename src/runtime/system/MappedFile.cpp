#include "runtime/system/MappedFile.h"

#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void failWithErrno(const fs::path &path, const char *action) {
  throw Error(ErrorKind::Io, path.string() + ": cannot " + action + ": " + std::strerror(errno));
}

/// The files that are mapped now, by where they begin.
struct Mappings {
  ForkSafeMutex mutex;
  std::map<const std::byte *, std::weak_ptr<const MappedFile>> files;
};

// Never destroyed: files may be closed while the process ends.
Mappings &mappings() {
  static auto *all = new Mappings;
  return *all;
}

} // namespace

MappedFile::MappedFile(fs::path path, int descriptor, size_t length, timespec written)
    : path(std::move(path)), descriptor(descriptor), length(length), written(written) {}

std::shared_ptr<MappedFile> MappedFile::open(const fs::path &path, size_t copyUpTo) {
  if (path.empty())
    throw Error(ErrorKind::Io, "expected the name of a file, got an empty one");
  // Non-blocking: opening a pipe must not wait for its writer before we reject it.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    failWithErrno(path, "open");
  std::shared_ptr<MappedFile> file(new MappedFile(path, descriptor, 0, {}));
  struct stat status{};
  if (::fstat(descriptor, &status) != 0)
    failWithErrno(path, "read its size");
  if (S_ISDIR(status.st_mode))
    throw Error(ErrorKind::Io, path.string() + ": expected a file, got a directory");
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::Io, path.string() + ": expected a regular file");
  if (status.st_size == 0)
    throw Error(ErrorKind::InvalidFile, path.string() + ": the file is empty");
  file->length = static_cast<size_t>(status.st_size);
  file->written = status.st_mtim;
  if (file->length <= copyUpTo) {
    file->copy();
    return file;
  }
  file->map();
  std::lock_guard lock(mappings().mutex);
  mappings().files[file->memory] = file;
  return file;
}

// Into whole pages, as a mapping has them: packages align their parts to those.
void MappedFile::copy() {
  void *pages = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    failWithErrno(path, "read");
  auto *target = static_cast<std::byte *>(pages);
  memory = target;
  for (size_t done = 0; done < length;) {
    constexpr size_t most = size_t{1} << 30;
    ssize_t got = ::read(descriptor, target + done, std::min(length - done, most));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failWithErrno(path, "read");
    if (got == 0)
      throw Error(ErrorKind::Io, path.string() + ": the file was truncated while it was read");
    done += static_cast<size_t>(got);
  }
  ::close(descriptor);
  descriptor = -1;
}

void MappedFile::map() {
  void *pages = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (pages == MAP_FAILED)
    failWithErrno(path, "map");
  memory = static_cast<const std::byte *>(pages);
}

MappedFile::~MappedFile() {
  if (descriptor >= 0) {
    std::lock_guard lock(mappings().mutex);
    mappings().files.erase(memory);
    ::close(descriptor);
  }
  if (memory)
    ::munmap(const_cast<std::byte *>(memory), length);
}

void MappedFile::forgetPages() const {
  if (descriptor >= 0)
    ::madvise(const_cast<std::byte *>(memory), length, MADV_DONTNEED);
}

void MappedFile::requireUnchanged() const {
  struct stat now{};
  if (descriptor < 0 || ::fstat(descriptor, &now) != 0)
    return;
  if (static_cast<size_t>(now.st_size) != length || now.st_mtim.tv_sec != written.tv_sec ||
      now.st_mtim.tv_nsec != written.tv_nsec)
    throw Error(ErrorKind::Io, path.string() + ": the file was changed while it was in use: load "
                                               "it again, and replace files by renaming new ones");
}

std::shared_ptr<const MappedFile> MappedFile::holding(const void *memory) {
  auto *address = static_cast<const std::byte *>(memory);
  std::shared_ptr<const MappedFile> file;
  std::lock_guard lock(mappings().mutex);
  auto next = mappings().files.upper_bound(address);
  if (next != mappings().files.begin())
    file = std::prev(next)->second.lock();
  return file && address < file->memory + file->length ? file : nullptr;
}

} // namespace headrace
