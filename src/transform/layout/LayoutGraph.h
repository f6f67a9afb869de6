// Which operators should work on images with their channels last, so that the least data is
// transposed.
#pragma once

#include "transform/layout/OperatorBuilders.h"

#include "llvm/ADT/DenseMap.h"

namespace headrace {

/// [N, C, spatial...] -> [N, spatial..., C]; its inverse goes back.
Permutation channelsLastPermutation(int64_t rank);

/// How an operator takes part in the choice of a layout.
struct LayoutRole {
  /// It can read its images in either layout.
  bool flexible = false;
  /// It wants them channels last.
  bool wantsLast = false;
  /// Its result has the layout of its images; otherwise it is the same in either.
  bool resultIsImage = false;
};
LayoutRole layoutRole(mlir::Operation *op);

/// Whether an operand of a flexible operator is an image, not a filter or a list of parameters.
bool isImageOperand(mlir::Operation *op, unsigned index);

/// The operators of a block that should work channels last, and their roles.
llvm::DenseMap<mlir::Operation *, LayoutRole> chooseChannelsLast(mlir::Block &block);

} // namespace headrace
