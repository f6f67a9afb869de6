// Merges groups that read the same values, one pair after another, if the time that saves is
// worth it: the plan that planning starts from.
#pragma once

#include "transform/kernels/GroupCost.h"
#include "transform/kernels/Grouping.h"

namespace headrace {

/// Two operators that do not share a kernel, and why.
struct UnsupportedFusion {
  llvm::StringLiteral verb; // of the recipe's step that would say so
  mlir::Operation *op;
  mlir::Operation *into;
  FusionDecision decision;
};

/// Groups that are `fixed` stay as they are.
void mergeGroups(Grouping &grouping, GroupCost &cost,
                 llvm::function_ref<bool(size_t group)> isFixed,
                 llvm::SmallVectorImpl<UnsupportedFusion> &refusals);

} // namespace headrace
