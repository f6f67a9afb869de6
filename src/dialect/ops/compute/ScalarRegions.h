// The regions of operators that compute any scalar function at each point of a domain: their rules,
// their movement, and their code.
#pragma once

#include "dialect/Hr.h"

namespace headrace::hr {

/// Checks a body: an argument per operand, maps that fit, scalar arithmetic.
mlir::LogicalResult verifyPointBody(mlir::Operation *op, mlir::AffineMap domain,
                                    mlir::ArrayAttr maps, mlir::ValueRange inputs,
                                    mlir::Block &body);

/// Checks that a region holds scalar arithmetic; a body may read positions and tables, too.
mlir::LogicalResult verifyScalars(mlir::Operation *op, mlir::Block &body, mlir::AffineMap domain,
                                  bool isCombine);

/// Each input by its map, tables by no map, the result by its dimensions of the domain.
Movement movementOf(mlir::Operation *op, mlir::AffineMap domain, int64_t reduced,
                    mlir::ArrayAttr maps, size_t tables);

/// The values that the region yields for these arguments. With `position`, positions are values;
/// without, `hr.index` stays.
llvm::SmallVector<mlir::Value> inlined(mlir::OpBuilder &b, mlir::Block &body,
                                       mlir::ValueRange arguments, mlir::ValueRange position = {});

} // namespace headrace::hr
