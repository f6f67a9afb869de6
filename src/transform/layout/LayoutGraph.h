// Which operators should work on images with their channels last, so that the least data is
// transposed.
#pragma once

#include "transform/layout/OperatorBuilders.h"

#include "llvm/ADT/DenseMap.h"

namespace headrace {

/// The role of an operator in this program: what is known at compile time is left as it is.
LayoutRole layoutRole(mlir::Operation *op);

/// The operators of a block that should work channels last, and their roles.
llvm::DenseMap<mlir::Operation *, LayoutRole> chooseChannelsLast(mlir::Block &block);

} // namespace headrace
