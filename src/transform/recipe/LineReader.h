// A line of a recipe, read from left to right; a '#' begins a comment.
#pragma once

#include "runtime/system/Error.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace headrace {

class LineReader {
public:
  LineReader(std::string_view whole, int line)
      : text(whole.substr(0, whole.find('#'))), line(line) {
    skipSpace();
  }

  bool atEnd() const { return at == text.size(); }

protected:
  static bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  void skipSpace() {
    while (at < text.size() && isSpace(text[at]))
      ++at;
  }

  /// Throws Error with the line, the column of `place` and what stands there.
  [[noreturn]] void fail(size_t place, const std::string &expected) const {
    size_t end = std::min(text.find_first_of(" \t\r", place), text.size());
    std::string found = place < text.size()
                            ? "'" + std::string(text.substr(place, end - place)) + "'"
                            : "the end of the line";
    throw Error(ErrorKind::InvalidArgument, "recipe, line " + std::to_string(line) + ", column " +
                                                std::to_string(place + 1) + ": " + expected +
                                                ", found " + found);
  }

  std::string_view text;
  int line;
  size_t at = 0;
};

} // namespace headrace
