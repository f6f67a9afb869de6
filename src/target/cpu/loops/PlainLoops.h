// The work of loops that no recipe puts into vectors: elements found by index, copies of rows,
// steps of recurrences.
#pragma once

#include "analysis/cost/Work.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// The value of a symbolic extent.
using ExtentOf = llvm::function_ref<double(mlir::AffineExpr)>;

/// How often the loops around an operation of a kernel run it: the steps of a recurrence or a scan.
double tripsAround(mlir::Operation *op, ExtentOf extentOf);

/// Whether the operation finds elements by index.
bool picksElements(mlir::linalg::GenericOp op);
/// Whether it reads an operand along another dimension than the last.
bool readsAcross(mlir::linalg::GenericOp op);

/// Adds an operation in plain loops, with this many points in all. What does not change along the
/// innermost loop is computed outside of that loop.
void addPlainLoops(Work &work, mlir::linalg::GenericOp op, double points, DType type);

/// Adds the copies of a kernel: concatenations, padding, slices that a scan reads and writes. Each
/// run of contiguous elements is a loop, or a call, of its own.
void addCopies(Work &work, mlir::func::FuncOp kernel, ExtentOf extentOf);

} // namespace headrace
