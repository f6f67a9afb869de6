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
    throw Error(ErrorKind::Io, path.string() + ": expected the name of a file, got a directory");
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Error(ErrorKind::Io, path.string() + ": expected a regular file or a new name");
  return target;
}

/// Where the open file is, as a path that can be linked to.
fs::path pathOf(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// A file without a name in the directory of the target; -1 if the system or the file system has no
/// such files, or none that could be given a name later.
int openUnnamed(const fs::path &target) {
  fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  int descriptor = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor >= 0 && ::access(pathOf(descriptor).c_str(), F_OK) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

/// Another one with every call.
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
    : target(finalPath(path)), descriptor(openUnnamed(target)) {
  if (descriptor < 0)
    openNamed();
}

void AtomicFile::openNamed() {
  fs::path own = temporaryBeside(target);
  descriptor = ::open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    fail(target, errno);
  name = own;
}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!name.empty())
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

/// A link cannot take the place of another file, a rename can: the name is there for that moment.
void AtomicFile::giveName() {
  fs::path own;
  int linked = 0;
  do {
    own = temporaryBeside(target);
    linked =
        ::linkat(AT_FDCWD, pathOf(descriptor).c_str(), AT_FDCWD, own.c_str(), AT_SYMLINK_FOLLOW);
  } while (linked != 0 && errno == EEXIST); // left by a process of the same number
  if (linked != 0)
    fail(target, errno);
  name = own;
}

void AtomicFile::putInPlace() {
  if (name.empty())
    giveName();
  int closed = ::close(descriptor);
  descriptor = -1;
  if (closed != 0 || ::rename(name.c_str(), target.c_str()) != 0)
    fail(target, errno);
  name.clear();
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
