#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>

namespace headrace {

/// A file or directory that must not stay behind as it is: while there are any, whoever ends the
/// process lets them be finished or removed first.
class UnfinishedFile {
public:
  UnfinishedFile();
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile &) = delete;
};
/// How many there are. May be called by a signal's handler.
int unfinishedFiles();

/// A file written piece by piece next to `path` and then put in its place: a reader sees the old
/// file or the whole new one. Until then it has no name, so that a process that is killed leaves
/// nothing behind either; on a file system that has no such files it has another name than `path`.
/// Throws Error, leaving nothing behind. Its writing can be interrupted (Interruption.h).
class AtomicFile {
public:
  explicit AtomicFile(const std::filesystem::path &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(std::span<const std::byte> piece);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Without it, nothing is left of the file.
  void putInPlace();

private:
  void openNamed();
  void giveName();

  std::filesystem::path target;
  std::filesystem::path name; ///< next to `target`; empty while the file has none
  UnfinishedFile unfinished;
  int descriptor;
};

/// Writes the pieces one after the other as an AtomicFile.
void writeFileAtomically(const std::filesystem::path &path,
                         std::span<const std::span<const std::byte>> pieces);
void writeFileAtomically(const std::filesystem::path &path,
                         std::initializer_list<std::span<const std::byte>> pieces);

} // namespace headrace
