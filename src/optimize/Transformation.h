// A transformation of a program: a step, where it applies, whether it is legal, and what it
// changes. No MLIR header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::optimize {

/// What a program costs: microseconds on one thread by the cost model, all others exact. Dynamic
/// dimensions count as their size hints.
struct Figures {
  double microseconds = 0;
  int64_t bytes = 0, operations = 0, kernels = 0;
  /// The memory of temporaries and outputs, of two programs the larger one; nothing if sizes are
  /// dynamic.
  std::optional<int64_t> peakBytes;
};

struct Transformation {
  /// In one line, as `Optimizer::apply` takes it.
  std::string step;
  /// The verb of a choice, "schedule" for the schedule of a kernel.
  std::string verb;
  /// The kernels that it is about, by their names before it.
  std::vector<std::string> kernels;
  /// Why it is not possible; empty if it is.
  std::string refused;
  /// The program before and after it; equal if it is not possible.
  Figures before, after;
  /// Lines of the recipe that give way or lose their object, and lines that are new in addition to
  /// the step.
  std::vector<std::string> dropped, added;
  /// The complete recipe after it; empty if it is not possible, and in lists of steps.
  std::string recipe;
  /// Equal for steps that lead to equal recipes.
  uint64_t state = 0;

  bool isLegal() const { return refused.empty(); }
  double savedMicroseconds() const { return before.microseconds - after.microseconds; }
};

} // namespace headrace::optimize
