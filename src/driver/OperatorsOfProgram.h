// A program at level 1 as operators with the volumes that they move, for exploration.
#pragma once

#include "explore/operators/OperatorGraph.h"
#include "target/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// All sizes must be numbers. With `target`, operators have the kernels that it would put them
/// into. Throws Error if a value has no elements.
explore::OperatorGraph operatorsOf(mlir::ModuleOp program, const std::string &name,
                                   const Target *target);

} // namespace headrace
