// Every pass over levels 1 and 2: `createFooBarPass()`, and their registration for tools.
#pragma once

#include "dialect/Hr.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

namespace headrace {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "transform/Passes.h.inc"

/// Argument attribute of an outlined kernel: its sizes as expressions of the program's symbols.
inline constexpr llvm::StringLiteral kSizesAttr = "hr.sizes";
/// How many of an outlined kernel's arguments, the last of those in memory, are its results.
inline constexpr llvm::StringLiteral kResultsAttr = "hr.results";

} // namespace headrace
