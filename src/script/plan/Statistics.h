#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace headrace::script {

/// Counts of a run, and where its time went.
struct Statistics {
  int64_t blocks = 0; ///< basic blocks that ran
  int64_t plans = 0;  ///< blocks, or parts of them, that were planned
  int64_t recompilations =
      0;                    ///< of those: again, because sizes or formats were not known or changed
  int64_t cacheHits = 0;    ///< blocks that found their plan
  int64_t compilations = 0; ///< programs compiled
  int64_t reused = 0;       ///< executions of invariant operations that a loop did without
  double reusedSeconds = 0; ///< what these would have taken
  double planSeconds = 0, compileSeconds = 0, totalSeconds = 0;

  struct Operator {
    int64_t calls = 0;
    double seconds = 0;
  };
  /// Calls and times by operation; kernels by their file and the operations, with lines, that
  /// became one in them.
  std::map<std::string, Operator> operators;
};

/// The text that `-stats` prints, with the slowest `most` operators.
std::string print(const Statistics &statistics, size_t most = SIZE_MAX);

} // namespace headrace::script
