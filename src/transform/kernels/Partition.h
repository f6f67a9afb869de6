// Decides which operators become one kernel.
#pragma once

#include "analysis/Machine.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/Borders.h"
#include "transform/kernels/KernelGroup.h"
#include "transform/recipe/LoopModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// Partitions the operators of a level-1 function into groups, producers before their users.
///
/// Walks the program backwards for a first plan: a producer joins the kernel of its users if the
/// group accepts it (KernelGroup says when loops can be shared). One that others read as well may
/// join too and is stored besides. Then groups that read the same values are merged (MergeGroups),
/// and the plan of each connected part is replaced by the fastest one that the machine's cost model
/// knows of (PlanKernels). In the end kernels take the padding of their results. No two groups ever
/// wait for each other. The stages that a recipe speaks of are grouped as it says, and with nothing
/// else; all others walk in blocks of rows if they can, but on a device. Choices that the
/// program's recipe gives (fuse, separate, walk, merge, kernels) come first and are not planned
/// anew, and those that are made are noted. Groups keep referring to the rules.
llvm::SmallVector<KernelGroup> partition(mlir::func::FuncOp function, const KernelRules &rules,
                                         const std::optional<LoopModel> &schedule,
                                         const Machine &machine, Choices &choices,
                                         const Borders &borders);

} // namespace headrace
