// Level 3: buffers instead of values.
//
// Before:
//   %t = bufferization.to_tensor %in restrict ; %r = scf.forall ... shared_outs(%o = %empty) ;
//   bufferization.materialize_in_destination %r in restrict writable %out
// After:
//   scf.forall ... { vector.transfer_read %in ; vector.transfer_write %out }
//
// Destinations are known, so results are computed in place; a copy that remains is a plain loop.
#include "target/cpu/Passes.h"
#include "target/cpu/lower/Border.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUBUFFERIZEPASS
#include "target/cpu/Passes.h.inc"

namespace {

bufferization::OneShotBufferizationOptions bufferizationOptions() {
  bufferization::OneShotBufferizationOptions options;
  options.memCpyFn = [](OpBuilder &b, Location loc, Value from, Value to) {
    b.create<linalg::CopyOp>(loc, from, to);
    return success();
  };
  return options;
}

/// Tiling guards a cell of nothing but padding by a branch; without it the cell's source is empty,
/// which pads just as well and is computed in place.
void dropPadGuards(RewriterBase &rewriter, ModuleOp module) {
  SmallVector<scf::IfOp> guards;
  module.walk([&](scf::IfOp guard) {
    if (guard.getNumResults() == 1 && guard.elseBlock() &&
        !guard.elseBlock()->getOps<tensor::PadOp>().empty())
      guards.push_back(guard);
  });
  for (scf::IfOp guard : guards) {
    Value padded = guard.elseYield().getOperand(0);
    rewriter.eraseOp(guard.elseYield());
    rewriter.inlineBlockBefore(guard.elseBlock(), guard);
    rewriter.replaceOp(guard, padded);
  }
}

/// The kernel's result is computed in the middle of its padding:
///
///   %p = tensor.pad %r low[1, 1] high[1, 1] ; materialize_in_destination %p in %out
/// becomes
///   linalg.fill outs(subview %out[0, 0] [1, 10]) {hr.border} ; ... ;
///   materialize_in_destination %r in subview %out[1, 1] [8, 8]
void writeInsideBorder(RewriterBase &rewriter, tensor::PadOp pad) {
  auto store = cast<bufferization::MaterializeInDestinationOp>(*pad->user_begin());
  Location loc = pad.getLoc();
  Value out = store.getDest(), value = pad.getConstantPaddingValue();
  rewriter.setInsertionPointAfterValue(value);
  SmallVector<OpFoldResult> low = pad.getMixedLowPad(), high = pad.getMixedHighPad(),
                            sizes = memref::getMixedSizes(rewriter, loc, out),
                            offsets(low.size(), rewriter.getIndexAttr(0)),
                            strides(low.size(), rewriter.getIndexAttr(1));
  auto part = [&] { return rewriter.create<memref::SubViewOp>(loc, out, offsets, sizes, strides); };
  auto without = [&](OpFoldResult size, OpFoldResult cut) {
    AffineExpr d0 = rewriter.getAffineDimExpr(0), d1 = rewriter.getAffineDimExpr(1);
    return affine::makeComposedFoldedAffineApply(rewriter, loc, d0 - d1, {size, cut});
  };
  auto fill = [&](size_t dim, OpFoldResult begin, OpFoldResult width) {
    if (getConstantIntValue(width) == 0)
      return;
    SmallVector<OpFoldResult> allOffsets = offsets, allSizes = sizes;
    offsets[dim] = begin;
    sizes[dim] = width;
    rewriter.create<linalg::FillOp>(loc, value, part().getResult())
        ->setAttr(kBorderAttr, rewriter.getUnitAttr());
    offsets = allOffsets;
    sizes = allSizes;
  };
  // Each side as long as those before it leave it, so that no element is filled twice.
  for (size_t dim = 0; dim < low.size(); ++dim) {
    fill(dim, rewriter.getIndexAttr(0), low[dim]);
    fill(dim, without(sizes[dim], high[dim]), high[dim]);
    offsets[dim] = low[dim];
    sizes[dim] = without(without(sizes[dim], low[dim]), high[dim]);
  }
  Value inside = part();
  rewriter.modifyOpInPlace(store, [&] {
    store.getSourceMutable().assign(pad.getSource());
    store.getDestMutable().assign(inside);
  });
  rewriter.eraseOp(pad);
}

/// Equal empty and filled tensors became one value on the way, but what is computed into them needs
/// memory of its own: one destination handed to two results makes them one buffer, and one that is
/// also what its result is inserted into makes a value its own operand.
void separateDestinations(RewriterBase &rewriter, ModuleOp module) {
  SmallVector<Operation *> starts;
  module.walk([&](Operation *op) {
    if (isa<tensor::EmptyOp, linalg::FillOp>(op) && op->getNumResults() == 1)
      starts.push_back(op);
  });
  auto isDestination = [](Operation *start, OpOperand &use) {
    if (isa<tensor::EmptyOp>(start))
      return true;
    auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
    return (user && user.isDpsInit(&use)) || isa<LoopLikeOpInterface>(use.getOwner());
  };
  // Backwards: a fill in two places asks for two empty tensors.
  for (Operation *start : llvm::reverse(starts)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : start->getUses())
      if (isDestination(start, use))
        uses.push_back(&use);
    rewriter.setInsertionPoint(start);
    bool keepsOne = llvm::range_size(start->getUses()) == uses.size();
    for (OpOperand *use : ArrayRef(uses).drop_back(keepsOne && !uses.empty()))
      use->set(rewriter.clone(*start)->getResult(0));
  }
}

/// A view that takes steps and drops dimensions is taken in two: MLIR tells which dimensions were
/// dropped by comparing the strides of view and source, which steps make different.
///
///   %v = memref.subview %m[4, 0, 0, %i] [1, 3, 1, 1] [1, 1, 3, 1] : ... to memref<3x1xf64>
///   %w = memref.subview %m[4, 0, 0, %i] [1, 3, 1, 1] [1, 1, 3, 1] : ... to memref<1x3x1x1xf64>
///   %v = memref.subview %w[0, 0, 0, 0] [1, 3, 1, 1] [1, 1, 1, 1] : ... to memref<3x1xf64>
void dropDimensionsWithoutSteps(RewriterBase &rewriter, ModuleOp module) {
  SmallVector<memref::SubViewOp> views;
  module.walk([&](memref::SubViewOp view) {
    if (view.getType().getRank() < view.getSourceType().getRank() && !view.hasUnitStride())
      views.push_back(view);
  });
  for (memref::SubViewOp view : views) {
    rewriter.setInsertionPoint(view);
    Location loc = view.getLoc();
    SmallVector<OpFoldResult> sizes = view.getMixedSizes();
    auto whole = rewriter.create<memref::SubViewOp>(loc, view.getSource(), view.getMixedOffsets(),
                                                    sizes, view.getMixedStrides());
    SmallVector<OpFoldResult> zeros(sizes.size(), rewriter.getIndexAttr(0)),
        ones(sizes.size(), rewriter.getIndexAttr(1));
    rewriter.replaceOpWithNewOp<memref::SubViewOp>(view, view.getType(), whole, zeros, sizes, ones);
  }
}

/// A value computed in place leaves a copy of a buffer onto itself.
void removeSelfCopies(RewriterBase &rewriter, ModuleOp module) {
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);
  module.walk([](linalg::CopyOp copy) {
    if (copy.getInputs().front() == copy.getOutputs().front())
      copy.erase();
  });
}

struct CpuBufferizePass : impl::CpuBufferizePassBase<CpuBufferizePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, bufferization::BufferizationDialect,
                    memref::MemRefDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    IRRewriter rewriter(&getContext());
    dropPadGuards(rewriter, module);
    // Padding has no destination of its own: it becomes a fill and an insertion.
    SmallVector<tensor::PadOp> pads;
    module.walk([&](tensor::PadOp pad) { pads.push_back(pad); });
    for (tensor::PadOp pad : pads) {
      if (isBorder(pad)) {
        writeInsideBorder(rewriter, pad);
        continue;
      }
      rewriter.setInsertionPoint(pad);
      if (failed(linalg::rewriteInDestinationPassingStyle(rewriter, pad)))
        return signalPassFailure();
    }
    separateDestinations(rewriter, module);
    bufferization::OneShotBufferizationOptions options = bufferizationOptions();
    bufferization::OneShotAnalysisState state(module, options);
    if (failed(bufferization::analyzeOp(module, state)) ||
        failed(bufferization::eliminateEmptyTensors(rewriter, module, state)) ||
        failed(bufferization::runOneShotBufferize(module, options)))
      return signalPassFailure();
    dropDimensionsWithoutSteps(rewriter, module);
    removeSelfCopies(rewriter, module);
  }
};

} // namespace
} // namespace headrace
