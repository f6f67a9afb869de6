#pragma once

#include "runtime/system/Error.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::script {

/// The text of one script and the name that messages give it.
class Source {
public:
  /// Scripts beyond 16 MiB and ones with a zero byte are rejected: they are not what they claim to
  /// be.
  Source(std::string name, std::string text);
  static Source read(const std::filesystem::path &path);

  const std::string &name() const { return fileName; }
  std::string_view text() const { return contents; }
  /// Both count from 1; a column is a character, not a byte.
  size_t line(uint32_t offset) const;
  size_t column(uint32_t offset) const;
  std::string_view lineText(size_t line) const;

private:
  std::string fileName;
  std::string contents;
  std::vector<uint32_t> lineStarts;
};

/// Where something is in a script. Whoever holds a place keeps its source alive.
struct SourceLocation {
  const Source *source = nullptr;
  uint32_t offset = 0;

  /// "svm.dml:12:7"
  std::string text() const;
};

/// The message with its place, the line and a caret:
///
///   svm.dml:2:9: expected an expression, found ')'
///     x = a * )
///             ^
std::string describe(SourceLocation place, const std::string &message);

/// Throws an Error with `describe(place, message)`.
[[noreturn]] void fail(SourceLocation place, const std::string &message,
                       ErrorKind kind = ErrorKind::InvalidScript);

} // namespace headrace::script
