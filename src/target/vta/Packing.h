// Values of level 1 in the accelerator's layout and back, by operators of level 1.
#pragma once

#include "target/vta/fixed/Chain.h"

#include "mlir/IR/Builders.h"

namespace headrace::vta {

/// The integers of a tensor (of ui8: less 128) as they lie in DRAM.
mlir::Value packed(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, const Image &image,
                   const Configuration &configuration);
/// A tensor of this type, from memory of that layout.
mlir::Value unpacked(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memory, const Image &image,
                     mlir::RankedTensorType type, const Configuration &configuration);

} // namespace headrace::vta
