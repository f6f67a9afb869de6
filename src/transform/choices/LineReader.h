// A line of a recipe, read from left to right; a '#' begins a comment.
#pragma once

#include "runtime/system/Error.h"
#include "transform/choices/RecipePlace.h"
#include "transform/choices/Suggestion.h"

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

  /// Throws Error with the line, the column of `place`, what is there and which of the words that
  /// could be there is near to it.
  [[noreturn]] void fail(size_t place, const std::string &expected,
                         llvm::ArrayRef<llvm::StringRef> words = {}) const {
    size_t end = std::min(text.find_first_of(" \t\r", place), text.size());
    std::string_view word = text.substr(std::min(place, end), end - std::min(place, end));
    std::string found = word.empty() ? "the end of the line" : "'" + std::string(word) + "'";
    throw Error(ErrorKind::InvalidArgument,
                placeInRecipe(line) + ", column " + std::to_string(place + 1) + ": " + expected +
                    ", got " + found + suggestion(word.substr(0, word.find('=')), words));
  }

  std::string_view text;
  int line;
  size_t at = 0;
};

} // namespace headrace
