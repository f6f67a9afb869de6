// Tensors as attributes of the IR and back.
#pragma once

#include "runtime/tensor/Tensor.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"

namespace headrace {

/// The elements of an attribute in its own element type. The tensor shares the memory of a large
/// constant; what the attribute itself stores it borrows, valid as long as the attribute's context.
Tensor constantTensor(mlir::ElementsAttr attribute);

/// A tensor as a constant of `type`, whose shape and element type must be the tensor's. Equal
/// elements are stored once; large tensors are not copied: the attribute keeps their owner alive.
mlir::ElementsAttr tensorAttribute(const Tensor &tensor, mlir::RankedTensorType type);

/// On a program that is planned and never run: large constants that its passes would make have no
/// elements of their own.
inline constexpr llvm::StringLiteral kForecastAttr = "hr.forecast";

/// A constant of which only the type is known, for such a program. Its elements read as zeros; it
/// takes no memory, and is not equal to any other constant.
mlir::ElementsAttr unknownConstant(mlir::RankedTensorType type);

} // namespace headrace
