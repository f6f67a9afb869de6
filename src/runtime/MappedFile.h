#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace headrace {

/// A whole file mapped read-only; the owner of tensors whose data stays in the file.
class MappedFile {
public:
  /// Throws Error when the file is absent, unreadable, empty or not a regular file.
  static std::shared_ptr<MappedFile> open(const std::filesystem::path &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::byte *data() const { return memory; }
  size_t size() const { return length; }

private:
  MappedFile(const std::byte *memory, size_t length) : memory(memory), length(length) {}

  const std::byte *memory;
  size_t length;
};

} // namespace headrace
