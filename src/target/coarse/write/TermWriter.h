// A mapped term as operators of level 1, which any target compiles: the operators of the machine as
// products and maps, movement as what it is, and memories as nothing.
#pragma once

#include "target/coarse/MapPieces.h"

namespace headrace::coarse {

/// The result of a piece, of the type of its root's. `inputs` are the values of the piece's inputs,
/// in order, null for numbers. Computes in the program's own numbers, not in the machine's.
mlir::Value writeTerm(mlir::OpBuilder &builder, const MappedPiece &mapped,
                      llvm::ArrayRef<mlir::Value> inputs, const BatchAxis &batch,
                      const rewrite::Terms &terms);

} // namespace headrace::coarse
