// Symbolic shapes: dimensions as affine expressions over the program's symbols, kept in the
// encoding of tensor types.
#pragma once

#include "dialect/SizeAlgebra.h"
#include "runtime/tensor/DType.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"

namespace headrace {

using SymbolicShape = llvm::SmallVector<mlir::AffineExpr>;

/// The dimensions of a tensor type; a dynamic dimension without an expression is an error of ours.
SymbolicShape shapeOf(mlir::RankedTensorType type);
SymbolicShape shapeOf(mlir::Value value);

/// A tensor type of these dimensions: constants become static, anything else is recorded in the
/// encoding. Equal shapes give equal types.
mlir::RankedTensorType tensorType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type elementType);

/// The type without its encoding, as level 2 uses it.
mlir::RankedTensorType plainType(mlir::Type type);

/// The type with symbol `i` replaced by `values[i]` if given.
mlir::RankedTensorType specialize(mlir::RankedTensorType type,
                                  llvm::ArrayRef<std::optional<int64_t>> values);

mlir::AffineExpr constantDim(int64_t value, mlir::MLIRContext *context);
std::optional<int64_t> constantValue(mlir::AffineExpr expr);
/// Number of elements, as an expression.
mlir::AffineExpr elementCount(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *context);
/// Size in bytes, as an expression.
mlir::AffineExpr byteCount(mlir::RankedTensorType type);
/// A map of no dimensions over the symbols used.
mlir::AffineMap symbolMap(llvm::ArrayRef<mlir::AffineExpr> exprs, mlir::MLIRContext *context);

/// NumPy's broadcast of two shapes; nullopt if a pair of dimensions does not fit.
std::optional<SymbolicShape> broadcastShapes(llvm::ArrayRef<mlir::AffineExpr> a,
                                             llvm::ArrayRef<mlir::AffineExpr> b);

/// "s0x3x224x224" for messages.
std::string shapeText(llvm::ArrayRef<mlir::AffineExpr> dims);

/// Element types. Booleans are i1; unsigned integers are MLIR's unsigned types.
DType toDType(mlir::Type type);
mlir::Type toElementType(DType dtype, mlir::MLIRContext *context);

} // namespace headrace
