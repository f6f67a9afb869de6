// Writes a segment of a block's graph as a program of level 1.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "script/graph/Segment.h"

namespace headrace::script {

/// Matrices are f64 of rank 2, or of rank 1 if they are columns; scalars have rank 0. Inputs are
/// those of the segment in order, then one without cells for each hidden symbol; symbols of the
/// graph are the program's.
mlir::OwningOpRef<mlir::ModuleOp> importSegment(const Dag &dag, const Segment &segment,
                                                mlir::MLIRContext &context, llvm::StringRef name);

} // namespace headrace::script
