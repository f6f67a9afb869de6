// Level 1: integers times powers of two, and what makes others of them, become launches of the
// accelerator's operators.
#pragma once

#include "runtime/vta/Configuration.h"

#include "mlir/Pass/Pass.h"

namespace headrace::vta {

/// Attribute of the program: why operators are not the accelerator's, by their names.
inline constexpr llvm::StringLiteral kReasonsAttr = "vta.reasons";
/// End the names of kernels that change layouts for the accelerator.
inline constexpr llvm::StringLiteral kPackSuffix = ".pack", kUnpackSuffix = ".unpack";

std::unique_ptr<mlir::Pass> createOffloadOperatorsPass(const std::string &target,
                                                       const Configuration &configuration);

} // namespace headrace::vta
