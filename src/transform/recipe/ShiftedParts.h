// A stage that is computed inside another, which reads it at shifted places, becomes a stage for
// each of the parts: loops compute tile by tile what they read as a whole.
//
//   %y = blur(%x) ; %a = extract_slice %y [0] ; %b = extract_slice %y [1] ; sum(%a, %b)
//   ->
//   %a = blur(extract_slice %x [0]) ; %b = blur(extract_slice %x [1]) ; sum(%a, %b)
//
// Elements that several parts have are computed for each of them.
#pragma once

#include "transform/recipe/LoopModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// Throws Error if the parts cannot be computed apart.
void computePartsApart(mlir::RewriterBase &rewriter, mlir::func::FuncOp kernel,
                       const LoopModel &model);

} // namespace headrace
