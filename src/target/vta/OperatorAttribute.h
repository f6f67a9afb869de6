// An operator of the accelerator as an attribute of its kernel's module, from level 1 to code.
#pragma once

#include "target/vta/schedule/Operator.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace::vta {

/// Attribute of a kernel's module.
inline constexpr llvm::StringLiteral kOperatorAttr = "vta.operator";

mlir::DictionaryAttr attributeOf(const Operator &op, mlir::MLIRContext *context);
/// The operator of a kernel's module. Large constants stay where the attribute has them.
Operator operatorOf(mlir::ModuleOp kernel);

} // namespace headrace::vta
