// A user's recipe for a device: how stages are launched, a line each; `#` begins a comment.
//
//   C: product tileM=64 tileN=64    # what is not given, the compiler chooses
//   softmax/reduce: rows lanes=8
#pragma once

#include "target/cuda/schedule/Schedule.h"

#include <string_view>

namespace headrace::cuda {

struct LaunchLine {
  std::string stage;
  GivenSchedule given;
  int line = 0; // where it is in the text
};

/// Throws `Error` (line and column, what was expected, what was found).
std::vector<LaunchLine> parseLaunches(std::string_view text);

} // namespace headrace::cuda
