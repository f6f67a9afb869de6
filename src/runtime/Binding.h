#pragma once

#include "runtime/MemoryPlan.h"
#include "runtime/Program.h"

#include <span>

namespace headrace {

/// All that a program's sizes decide, worked out once per set of symbol values.
struct Binding {
  struct StepFacts {
    int64_t grid = 0;                // of kernels
    int64_t grain = 0;               // items that are worth a thread; the grid or more: run inline
    std::vector<int64_t> parameters; // of library steps
  };
  std::vector<int64_t> symbols;
  std::vector<Shape> outputShapes;
  MemoryPlan plan; // offsets by buffer id, -1 for what is no temporary
  std::vector<StepFacts> steps;
};

/// Temporaries only; offsets by buffer id.
MemoryPlan planTemporaries(const Program &program, std::span<const int64_t> symbols);

/// Of all outputs together.
int64_t outputBytes(const Program &program, std::span<const int64_t> symbols);

Binding makeBinding(const Program &program, std::span<const KernelFn> kernels,
                    std::span<const int64_t> symbols);

} // namespace headrace
