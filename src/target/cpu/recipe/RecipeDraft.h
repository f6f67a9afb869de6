// A kernel whose recipe is being chosen: what is in it, the loops of its root, and the steps so
// far.
#pragma once

#include "analysis/Machine.h"
#include "target/cpu/recipe/StepWriter.h"

namespace headrace {

struct RecipeDraft {
  static constexpr int64_t kWantedCells = 16; // enough to share evenly among a few threads

  int64_t lanes() const { return machine.lanes(elementBytes); }

  KernelContents contents;
  const Machine &machine;
  StepWriter write;
  llvm::SmallVector<int64_t> ranges;
  llvm::SmallVector<int64_t> nominal; // ranges, with nominal sizes for open ones
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  int64_t elementBytes = 1;
};

} // namespace headrace
