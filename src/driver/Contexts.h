// Contexts of MLIR, handed on from program to program. A new one has to load its dialects and make
// the sets of patterns that passes apply, which takes as long as compiling a small program.
//
// A program has its context to itself, together with what is made from it: its gradients, its
// compiled versions; segments of a script share one. Whoever refers to it last gives it back,
// without its constants. Types and attributes stay in a context for good, so one that has compiled
// much is not used again.
#pragma once

#include "target/Target.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace headrace {

/// A context with the dialects of every level, of the target and of the host, that nothing else
/// refers to.
std::shared_ptr<mlir::MLIRContext> contextFor(const Target &target);

/// Adds the dialects of one more target.
void addTarget(mlir::MLIRContext &context, const Target &target);

} // namespace headrace
