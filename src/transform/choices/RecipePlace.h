// Lines of a recipe as messages name them: "recipe, line 3, column 7: ...".
//
// A kernel's schedule is text of its own, whose lines count from 1, so that equal kernels stay
// equal. A message on it is given the lines of the recipe before users see it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <string>

namespace headrace {

inline constexpr llvm::StringLiteral kRecipeLine = "recipe, line ";

inline std::string placeInRecipe(int line) { return kRecipeLine.str() + std::to_string(line); }

/// The message on a schedule that stands in these lines of a recipe; `subject` begins what it says.
/// A message that names no line is given the first one.
inline std::string inLinesOf(llvm::StringRef message, llvm::ArrayRef<int> lines,
                             const std::string &subject) {
  size_t line = 1;
  if (message.consume_front(kRecipeLine))
    (void)message.consumeInteger(10, line);
  std::string place = "recipe";
  if (!lines.empty())
    place = placeInRecipe(lines[std::clamp<size_t>(line, 1, lines.size()) - 1]);
  if (message.consume_front(", column ")) {
    auto [column, rest] = message.split(": ");
    place += ", column " + column.str();
    message = rest;
  } else if (!message.consume_front(": ")) {
    message.consume_front(", ");
  }
  return place + ": " + subject + message.str();
}

} // namespace headrace
