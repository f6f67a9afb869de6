// Lines that give stages a schedule by its kind and parameters; `#` begins a comment.
//
//   C: product tileM=64 tileN=64    # what is not given, the compiler chooses
//   softmax/reduce: rows lanes=8
//
// Which kinds there are and what parameters they have is up to the target.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include "schedule/Schedule.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct ScheduleLine : ScheduleRecord {
  std::string stage;
  int line = 0; // where it is in the text
};

/// The words of a target.
struct ScheduleWords {
  std::string kind; // what a kind is called in messages: "a kind of launch"
  llvm::ArrayRef<llvm::StringLiteral> kinds;
  llvm::function_ref<llvm::ArrayRef<llvm::StringLiteral>(llvm::StringRef kind)> parametersOf;
};

/// Throws `Error` (line and column, what was expected, what was found).
std::vector<ScheduleLine> parseSchedules(std::string_view text, const ScheduleWords &words);

/// The value that a line gives to a parameter, whoever else may find fault with the text; nothing
/// if none does.
std::optional<int64_t> parameterIn(llvm::StringRef text, llvm::StringRef name);

/// Whether the first line gives a schedule of one of these kinds, rather than a step.
bool beginsWithSchedule(llvm::StringRef text, llvm::ArrayRef<llvm::StringLiteral> kinds);

} // namespace headrace
