// The files of a .pt2 archive, a zip archive of stored files, which are read in place.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headrace::aten {

using Bytes = std::span<const std::byte>;

class Archive {
public:
  /// `source` names the archive in messages. Throws Error if it is damaged or not an archive of
  /// stored files.
  Archive(Bytes archive, std::string source);

  /// The file of this path, without the archive's own directory: "models/model.json". Throws Error
  /// if there is none.
  Bytes file(const std::string &path) const;
  bool has(const std::string &path) const { return files.contains(path); }
  std::vector<std::string> pathsBelow(const std::string &directory) const;

  [[noreturn]] void fail(const std::string &what) const;

private:
  template <class Record> Record read(uint64_t position) const;
  std::string text(uint64_t position, uint64_t length) const;
  void addFiles(uint64_t position, uint64_t count);

  Bytes archive;
  std::string source;
  std::map<std::string, Bytes> files;
};

} // namespace headrace::aten
