// A kernel that is to be scheduled: what is in it, and the loops of its root.
#pragma once

#include "analysis/Machine.h"
#include "transform/kernels/KernelForm.h"
#include "transform/recipe/KernelModel.h"

namespace headrace {

struct KernelLoops {
  KernelLoops(mlir::func::FuncOp kernel, const Machine &machine);

  int64_t lanes() const { return machine.lanes(elementBytes); }
  bool isOpen(size_t dim) const { return mlir::ShapedType::isDynamic(ranges[dim]); }

  KernelContents contents;
  const Machine &machine;
  KernelForm form; // what was decided when it was formed
  llvm::SmallVector<int64_t> ranges;
  llvm::SmallVector<int64_t> hints; // ranges, with size hints for dynamic ones
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  int64_t elementBytes = 1;
  /// Vectors of booleans are packed bits in registers and bytes in memory: kept scalar.
  bool vectorizable = true;
};

} // namespace headrace
