#pragma once

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace headrace {

/// The bytes of a whole file, read-only; the owner of tensors whose data stays in it.
///
/// A file of up to `copiedBytes` is read into memory of our own, and nothing that happens to it
/// afterwards matters. A larger one is mapped: its memory is the system's, shared by all processes
/// that use the file, but it is also the file's, so that whoever overwrites the file in place
/// changes it, and whoever truncates the file takes it away. `requireUnchanged` tells, at the price
/// of one call of the system.
class MappedFile {
public:
  static constexpr size_t copiedBytes = size_t{64} << 20;

  /// Throws Error when the file is absent, unreadable, empty or not a regular file.
  static std::shared_ptr<MappedFile> open(const std::filesystem::path &path,
                                          size_t copyUpTo = copiedBytes);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::byte *data() const { return memory; }
  size_t size() const { return length; }

  /// Throws Error if the file was truncated or written to since it was opened.
  void requireUnchanged() const;

  /// Gives the memory of a mapped file back to the system, which reads it again when it is needed.
  void forgetPages() const;

  /// The mapped file that memory is in; null for what is in no file, or in a copy of one.
  static std::shared_ptr<const MappedFile> holding(const void *memory);

private:
  MappedFile(std::filesystem::path path, int descriptor, size_t length, timespec written);
  void copy();
  void map();

  std::filesystem::path path;
  int descriptor; // -1 for a copy
  size_t length;
  timespec written;
  const std::byte *memory = nullptr;
};

} // namespace headrace
