// Values of level 1 in the accelerator's layout and back, by operators of level 1.
#pragma once

#include "target/vta/schedule/Operator.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace headrace::vta {

/// The type of a value in DRAM: [batch / b, channels / block, height, width, b, block] of i8.
mlir::RankedTensorType packedType(const Image &image, const Configuration &configuration,
                                  mlir::MLIRContext *context);
/// The integers of a tensor (of ui8: less 128) as they are stored.
mlir::Value packed(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, const Image &image,
                   const Configuration &configuration);
/// A tensor of this type, from memory of that layout.
mlir::Value unpacked(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memory, const Image &image,
                     mlir::RankedTensorType type);

} // namespace headrace::vta
