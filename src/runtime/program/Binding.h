#pragma once

#include "runtime/program/MemoryPlan.h"
#include "runtime/program/Program.h"
#include "runtime/program/Slices.h"

#include <memory>
#include <span>

namespace headrace {

/// All that a program's sizes decide, worked out once per set of symbol values.
struct Binding {
  struct StepFacts {
    int64_t grid = 0;                // of kernels of the host
    int64_t grain = 0;               // items that are worth a thread; the grid or more: run inline
    std::vector<int64_t> parameters; // of library steps and transfers
    int64_t workspace = 0;           // where the step's device workspace is in the arena
    size_t together = 1;             // steps from this one on that run at the same time
    const SlicedRun *run = nullptr;  // of which this is the first step
    bool isSliced = false;           // belongs to a sliced run
  };
  std::vector<int64_t> symbols;
  std::vector<Shape> outputShapes;
  MemoryPlan plan; // offsets by buffer id, -1 for buffers that are not temporaries
  std::vector<StepFacts> steps;
  std::vector<std::unique_ptr<SlicedRun>> runs;
};

/// Bytes moved and operations done in about the time it takes to share a loop with spinning
/// workers.
inline constexpr double worthSharing = 20'000;

/// Temporaries, with offsets by buffer id; then the device workspaces of the steps. Each engine has
/// an arena of its own. `steps`, if given, say which of them run at the same time.
MemoryPlan planTemporaries(const Program &program, std::span<const int64_t> symbols,
                           std::span<const Binding::StepFacts> steps = {});

/// Bytes of all outputs together.
int64_t outputBytes(const Program &program, std::span<const int64_t> symbols);

/// All but what kernels decide. Throws Error if sizes overflow; fails as unsound (Program.h)
/// if a buffer would be negative or larger than its tensor, or a library step leaves its
/// operands.
Binding makeBinding(const Program &program, std::span<const int64_t> symbols);
/// With the grids of kernels of the host.
Binding makeHostBinding(const Program &program, std::span<const KernelFn> kernels,
                        std::span<const int64_t> symbols);

} // namespace headrace
