#include "runtime/system/AtomicWrite.h"

#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace headrace {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path &path, int error) {
  throw Error(ErrorKind::Io, path.string() + ": cannot write: " + std::strerror(error));
}

std::atomic<int> unfinishedCount{0};

// A rename would replace a link or a device instead of writing to what it stands for.
fs::path finalPath(const fs::path &path) {
  std::error_code error;
  if (path.empty())
    throw Error(ErrorKind::Io, "expected the name of a file to write, got an empty one");
  fs::path target = path;
  if (fs::is_symlink(path, error)) {
    target = fs::canonical(path, error);
    if (error)
      fail(path, error.value());
  }
  fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status) || target.filename().empty())
    throw Error(ErrorKind::Io, path.string() + ": expected the name of a file, got a folder");
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Error(ErrorKind::Io, path.string() + ": expected a regular file or a new name");
  return target;
}

fs::path temporaryBeside(const fs::path &path) {
  static std::atomic<unsigned> counter{0};
  return path.parent_path() / ("." + path.filename().string() + "." + std::to_string(::getpid()) +
                               "." + std::to_string(counter++) + ".tmp");
}

} // namespace

UnfinishedFile::UnfinishedFile() { ++unfinishedCount; }
UnfinishedFile::~UnfinishedFile() { --unfinishedCount; }
int unfinishedFiles() { return unfinishedCount; }

AtomicFile::AtomicFile(const fs::path &path)
    : target(finalPath(path)), name(temporaryBeside(target)),
      descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (descriptor < 0)
    fail(target, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!placed)
    ::unlink(name.c_str());
}

void AtomicFile::write(std::span<const std::byte> piece) {
  while (!piece.empty()) {
    pollInterruption();
    ssize_t written =
        ::write(descriptor, piece.data(), std::min<size_t>(piece.size(), size_t{64} << 20));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail(target, errno);
    piece = piece.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::putInPlace() {
  int closed = ::close(descriptor);
  descriptor = -1;
  if (closed != 0 || ::rename(name.c_str(), target.c_str()) != 0)
    fail(target, errno);
  placed = true;
}

void writeFileAtomically(const fs::path &path, std::span<const std::span<const std::byte>> pieces) {
  AtomicFile file(path);
  for (std::span<const std::byte> piece : pieces)
    file.write(piece);
  file.putInPlace();
}

void writeFileAtomically(const fs::path &path,
                         std::initializer_list<std::span<const std::byte>> pieces) {
  writeFileAtomically(path, std::span(pieces.begin(), pieces.size()));
}

} // namespace headrace
