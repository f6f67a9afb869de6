// The graph of a program that is at some phase.
#pragma once

#include "driver/ProgramGraph.h"
#include "target/Placement.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// Nodes and edges of the program after this phase; the caller knows the model's name. The node
/// `codeOf`, or with "*" every node, comes with its IR.
ProgramGraph graphOf(mlir::ModuleOp program, const Targets &targets, const std::string &phase,
                     const std::string &codeOf = "");

} // namespace headrace
