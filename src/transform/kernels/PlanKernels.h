// Improves the groups of a program by predicted time.
//
// Operators that could never share a kernel, whatever else it holds, cut the program into parts
// (KernelLinks). The plan of a part of a few operators is the fastest there is (PartPlan); a larger
// part is improved piece by piece: two neighbouring groups at a time, those first that could save
// the most, until none saves anything or the limit on kernels that are looked at is reached. The
// result is never slower than what it starts from, by the cost model.
#pragma once

#include "transform/kernels/Grouping.h"
#include "transform/kernels/PartPlan.h"

namespace headrace {

/// Groups that are `fixed` stay as they are, and no others come to be than those that are allowed.
PlanCounts planKernels(Grouping &grouping, mlir::Block &body, const KernelRules &rules,
                       GroupCost &cost, llvm::function_ref<bool(size_t group)> isFixed,
                       PartPlan::IsAllowed isAllowed);

} // namespace headrace
