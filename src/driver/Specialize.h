// A program with some of its dynamic dimensions fixed.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// A copy of the level-1 program in which symbol `i` has the value `values[i]` if given; the
/// remaining symbols are numbered anew, in order.
mlir::OwningOpRef<mlir::ModuleOp> specializeProgram(mlir::ModuleOp program,
                                                    llvm::ArrayRef<std::optional<int64_t>> values);

} // namespace headrace
