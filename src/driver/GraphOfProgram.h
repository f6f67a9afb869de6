// The graph of a program that is at some phase.
#pragma once

#include "driver/ProgramGraph.h"
#include "target/Placement.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// Nodes and edges; the caller knows the model's name and the phase.
ProgramGraph graphOf(mlir::ModuleOp program, const Targets &targets);

} // namespace headrace
