#include "runtime/MappedFile.h"

#include "runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace {

namespace {

[[noreturn]] void failWithErrno(const std::filesystem::path &path, const char *action) {
  throw Error(ErrorKind::Io,
              path.string() + ": cannot " + action + ": " + std::string(std::strerror(errno)));
}

struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

} // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path &path) {
  // Non-blocking: opening a pipe must not wait for its writer before we refuse it.
  int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0)
    failWithErrno(path, "open");
  Descriptor descriptor{number};
  struct stat status{};
  if (::fstat(descriptor.number, &status) != 0)
    failWithErrno(path, "read its size");
  if (S_ISDIR(status.st_mode))
    throw Error(ErrorKind::Io, path.string() + ": expected a file, got a directory");
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::Io, path.string() + ": expected a regular file");
  if (status.st_size == 0)
    throw Error(ErrorKind::InvalidFile, path.string() + ": the file is empty");
  auto length = static_cast<size_t>(status.st_size);
  void *memory = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
  if (memory == MAP_FAILED)
    failWithErrno(path, "map");
  return std::shared_ptr<MappedFile>(
      new MappedFile(static_cast<const std::byte *>(memory), length));
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte *>(memory), length); }

} // namespace headrace
