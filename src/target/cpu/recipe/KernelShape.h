// Properties of a kernel's operations that decide their loops.
#pragma once

#include "target/cpu/recipe/KernelLoops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// A sum of products of two operands.
bool isContraction(mlir::linalg::GenericOp op);
/// A reduction along the dimension in which its inputs lie contiguously.
bool reducesRows(mlir::linalg::GenericOp op);
llvm::SmallVector<std::string> reductionAxes(mlir::Operation *op);
/// Whether the last dimension of the result is the last one of what is read along it.
bool readsAlong(mlir::linalg::GenericOp op, unsigned dim);
/// How many elements apart two neighbours along `dim` are in what the operand holds; 0 if it is
/// not read along `dim`, or its sizes are not known.
int64_t distanceAlong(mlir::linalg::GenericOp op, unsigned operand, unsigned dim);
/// How many rows of the first operand, read side by side, the nearest cache holds: their lines
/// compete for the same places if rows lie a power of two apart.
int64_t rowsHeld(const Machine &machine, mlir::linalg::GenericOp op, unsigned row,
                 int64_t elementBytes);
/// How many of `size` rows a register tile takes, at most `most`. `even`: only tiles that divide
/// the rows, so that the rows can be shared among cells.
int64_t rowTile(int64_t size, int64_t most, bool even);
/// The dimension along which operands are contiguous, if that is not the result's last one, and
/// both are known. Others, such as a bias, are in the order of the result or lack dimensions.
std::optional<int64_t> dimContiguousInOperands(const KernelLoops &loops);
/// That dimension if it and the result's last one fill squares of vectors.
std::optional<int64_t> dimReadAcross(const KernelLoops &loops);
/// Whether the kernel is a product whose right-hand side lies along the reduced dimension, in
/// matrices that its tiles can copy into the order of the columns.
bool liesAlongSum(const KernelLoops &loops);
/// The length of the rows that all reductions of the kernel are over; 0 if it is dynamic, or they
/// differ.
int64_t rowLength(const KernelLoops &loops);
/// The root's dimensions that lie along the rows: those it reduces, and those along which it uses
/// the result of a reduction again, as a softmax does.
llvm::SmallVector<int64_t> rowDims(const KernelLoops &loops);
/// A dimension of the second operand (weights) only.
bool isFeatureBlock(mlir::linalg::GenericOp op, unsigned dim);

} // namespace headrace
