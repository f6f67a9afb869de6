// Zip archives of stored files, each at a multiple of a page: read in place, written in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headrace {

using Bytes = std::span<const std::byte>;

/// Bounds on the number of files and the bytes of each: far more than any package needs.
inline constexpr size_t maxZipFiles = 1024;
inline constexpr uint64_t maxZipBytes = UINT32_MAX;

/// The files of an archive in memory, by name. `source` names it in messages. Throws Error if it
/// is damaged, or holds what packages never do: compressed or encrypted files, files outside the
/// archive or over each other, names that leave the directory they would be unpacked to.
class ZipReader {
public:
  ZipReader(Bytes archive, const std::string &source);

  /// Throws Error if there is none of that name.
  Bytes file(const std::string &name) const;
  /// A copy of it whose CRC-32 is right.
  std::vector<std::byte> checkedFile(const std::string &name) const;

private:
  struct Entry {
    Bytes data;
    uint32_t crc;
  };
  const Entry &entry(const std::string &name) const;

  std::string source;
  std::map<std::string, Entry> entries;
};

/// Collects files, which must stay where they are, and writes them as one archive.
class ZipWriter {
public:
  /// The file is these pieces, one after the other.
  void add(std::string name, std::vector<Bytes> pieces);

  /// Throws Error if it cannot be written or would exceed maxZipBytes; leaves nothing behind.
  void write(const std::filesystem::path &path) const;

private:
  struct File {
    std::string name;
    std::vector<Bytes> pieces;
  };
  std::vector<File> files;
};

/// Zip's checksum, continued from `crc`.
uint32_t crc32(Bytes data, uint32_t crc = 0);

} // namespace headrace
