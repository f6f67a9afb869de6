#pragma once

#include "runtime/system/FunctionRef.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/Text.h"
#include "runtime/system/ThreadPool.h"

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A text file, mapped; it may be empty. A directory is the files in it one after the other, in the
/// order of their names, without hidden ones and those that begin with an underscore.
class FileText {
public:
  /// Throws Error when the file is absent, unreadable or not a regular file.
  explicit FileText(const std::filesystem::path &path);

  /// Without a byte order mark and without the line ends after the last line.
  std::string_view text() const { return content; }
  const std::string &name() const { return file; }

  /// Throws Error: "name: reason", and with a place in the text "name:line: reason".
  [[noreturn]] void fail(const std::string &reason) const;
  [[noreturn]] void fail(std::string_view place, const std::string &reason) const;

private:
  std::string file;
  std::shared_ptr<MappedFile> mapping;
  std::shared_ptr<const std::string> joined; ///< of a directory
  std::string_view content;
};

/// The text up to the end of its first line, without that end; moves `text` behind it.
std::string_view takeLine(std::string_view &text);

/// Without blanks, tabs and carriage returns at both ends.
std::string_view trimmed(std::string_view text);

/// The next word, which blanks and tabs separate; empty at the end. Moves `text` behind it.
std::string_view takeWord(std::string_view &text);

/// Pieces of about a megabyte that end with lines.
std::vector<std::string_view> splitAtLines(std::string_view text);

/// Calls `body` for every piece, in parallel. Of several errors the first in the text is thrown.
void forPieces(size_t count, ThreadPool &pool, FunctionRef<void(size_t piece)> body);

/// The files of a directory as distributed systems write them, in order: part-00000, part-00001;
/// 0-m-00000, 1-m-00000. Throws Error if there are none.
std::vector<std::filesystem::path> partFiles(const std::filesystem::path &folder);

/// Throws Error when a matrix that the file only declares would need more than all memory.
void checkFitsMemory(const std::string &file, int64_t rows, int64_t cols, double bytes);

} // namespace headrace
