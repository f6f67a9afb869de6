// Packing: the elements that a stage reads inside a loop, copied into the order in which it reads
// them.
#pragma once

#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// A loop of a nest and its place in the stage.
using MadeLoop = std::pair<mlir::scf::ForOp, size_t>;

/// Packs what `op`, the operation of `stage` inside `loops`, reads of `pack.source`: before the
/// loops inside `pack.loop`, into a panel per iteration of those it depends on.
///
///   scf.for %j { scf.for %i { op(B[0:512, %j:16]) } }
///   ->
///   %panels = scf.for %j { copy B[0:512, %j:16] into %p[%j / 16] : tensor<4x512x16> }
///   scf.for %j { scf.for %i { op(%panels[%j / 16]) } }
void packOperand(mlir::RewriterBase &rewriter, mlir::TilingInterface op, const Stage &stage,
                 const Stage::Pack &pack, llvm::ArrayRef<MadeLoop> loops);

} // namespace headrace
