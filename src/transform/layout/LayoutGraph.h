// Which operators should work on images with their channels last, so that the least data is
// transposed.
#pragma once

#include "transform/choices/Choices.h"
#include "transform/common/OperatorBuilders.h"

#include "llvm/ADT/DenseMap.h"

namespace headrace {

/// The role of an operator in this program: what is known at compile time is left as it is.
LayoutRole layoutRole(mlir::Operation *op);

/// The operators of a block that should work channels last, and their roles; as the program's
/// recipe says of those that it names.
llvm::DenseMap<mlir::Operation *, LayoutRole> chooseChannelsLast(mlir::Block &block,
                                                                 Choices &choices);

} // namespace headrace
