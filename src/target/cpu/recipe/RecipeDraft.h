// A kernel whose recipe is being chosen: what is in it, the loops of its root, and the steps so
// far.
#pragma once

#include "analysis/Machine.h"
#include "target/cpu/recipe/StepWriter.h"

namespace headrace {

struct RecipeDraft {
  static constexpr int64_t kWantedCells = 16; // enough to share evenly among a few threads
  static constexpr int64_t kAssumedDynamicSize = 8;

  int64_t lanes() const { return machine.lanes(elementBytes); }
  int64_t sizeOrGuess(int64_t dim) const {
    return mlir::ShapedType::isDynamic(ranges[dim]) ? kAssumedDynamicSize : ranges[dim];
  }

  KernelContents contents;
  const Machine &machine;
  StepWriter write;
  llvm::SmallVector<int64_t> ranges;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  int64_t elementBytes = 1;
};

} // namespace headrace
