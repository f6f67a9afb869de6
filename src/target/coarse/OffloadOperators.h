// Level 1: the operators that a machine computes become launches of kernels of its own.
#pragma once

#include "rewrite/accelerator/Accelerator.h"

#include "mlir/Pass/Pass.h"

namespace headrace::coarse {

/// Attribute of a kernel's module: its code (rewrite/engine/Code.h).
inline constexpr llvm::StringLiteral kCodeAttr = "coarse.code";
/// Attribute of the program: why operators are not the machine's, by their names.
inline constexpr llvm::StringLiteral kReasonsAttr = "coarse.reasons";

/// `target` is the name of the one that takes them, `description` the text of the machine's file.
std::unique_ptr<mlir::Pass> createOffloadOperatorsPass(const std::string &target,
                                                       const rewrite::Accelerator &machine,
                                                       const std::string &description);

} // namespace headrace::coarse
