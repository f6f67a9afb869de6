// The text of rules and terms, and places in it that errors can show.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headrace::rewrite {

class Source {
public:
  /// Texts beyond 4 MiB and ones with a zero byte are rejected: they are not what they claim to be.
  Source(std::string name, std::string text);
  static std::shared_ptr<const Source> read(const std::filesystem::path &path);

  const std::string &name() const { return fileName; }
  std::string_view text() const { return contents; }

private:
  std::string fileName, contents;
};

/// Keeps its source alive, so that a rule can be quoted long after its file was read.
struct SourceLocation {
  std::shared_ptr<const Source> source;
  uint32_t offset = 0;

  /// "user.rules:12:7"; lines and columns count from 1, a column is a byte.
  std::string text() const;
};

/// Throws an Error of the kind InvalidFile with the place, the line and a caret:
///
///   user.rules:2:9: expected a term, found ')'
///     mv(?w, ) => ?w
///            ^
[[noreturn]] void fail(const SourceLocation &place, const std::string &message);

} // namespace headrace::rewrite
