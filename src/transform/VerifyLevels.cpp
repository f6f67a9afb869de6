// Verifiers at the boundaries between levels: what a level promises to the next one.
//
// verify-level1: the entry holds operators of `hr`, library calls chosen for some, and launches of
//                kernels that the target wrote itself; every shape has an expression.
// verify-level2: kernels, such launches, library calls, checks, views and constants only; kernels
//                hold linalg over plain tensors, in loops over blocks of rows or where data says
//                where to write, and compute all they yield; points of parallel loops write
//                elements of their own.
// verify-level3: kernels hold no tensor any more, only buffers.
//
// Each names the operator that broke the promise. They are part of every compilation.
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_VERIFYLEVEL1PASS
#define GEN_PASS_DEF_VERIFYLEVEL2PASS
#define GEN_PASS_DEF_VERIFYLEVEL3PASS
#include "transform/Passes.h.inc"

namespace {

LogicalResult verifySizesKnown(Operation &op) {
  for (Type type : op.getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return op.emitError("expected ranked tensors at level 1, got ") << type;
    if (!tensor.hasStaticShape() && !tensor.getEncoding())
      return op.emitError("has a size that no expression gives: ") << type;
  }
  return success();
}

struct VerifyLevel1Pass : impl::VerifyLevel1PassBase<VerifyLevel1Pass> {
  void runOnOperation() override {
    for (Operation &op : getOperation().getBody().front().without_terminator()) {
      if (!isa<hr::OperatorInterface, hr::LibraryOp, hr::LaunchOp>(op)) {
        op.emitError("is not an operator of level 1");
        return signalPassFailure();
      }
      if (failed(verifySizesKnown(op)))
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

/// A parallel loop that a result does not have would write its elements several times over.
LogicalResult verifyParallelResults(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    for (unsigned i = 0; i < loops.size(); ++i)
      if (loops[i] == utils::IteratorType::parallel && sizes[i] != 1 && !map.isFunctionOfDim(i))
        return op.emitError("writes a result without its parallel loop ") << i;
  }
  return success();
}

LogicalResult verifyKernelBody(hr::KernelOp kernel) {
  WalkResult ownElements = kernel.walk([](linalg::LinalgOp op) {
    return failed(verifyParallelResults(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (ownElements.wasInterrupted())
    return failure();
  for (Operation &op : kernel.getBody().front()) {
    if (!isa<hr::YieldOp, hr::SizeOp>(op) &&
        !isa<linalg::LinalgDialect, tensor::TensorDialect, arith::ArithDialect,
             affine::AffineDialect, scf::SCFDialect>(op.getDialect()))
      return op.emitError("is not allowed in a kernel of level 2: ") << op.getName();
    for (Type type : op.getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
        return op.emitError("expected plain tensors inside a kernel, got ") << type;
  }
  for (Value value : kernel.getBody().front().getTerminator()->getOperands())
    if (isa<BlockArgument>(value))
      return kernel.emitError("yields an operand without computing anything");
  return success();
}

struct VerifyLevel2Pass : impl::VerifyLevel2PassBase<VerifyLevel2Pass> {
  void runOnOperation() override {
    for (Operation &op : getOperation().getBody().front().without_terminator()) {
      if (!isa<hr::KernelOp, hr::LibraryOp, hr::LaunchOp, hr::CheckOp, hr::ReshapeOp,
               hr::ConstantOp>(op)) {
        op.emitError("became no kernel");
        return signalPassFailure();
      }
      if (auto kernel = dyn_cast<hr::KernelOp>(op); kernel && failed(verifyKernelBody(kernel)))
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

struct VerifyLevel3Pass : impl::VerifyLevel3PassBase<VerifyLevel3Pass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      bool holdsTensor =
          llvm::any_of(op->getResultTypes(), [](Type type) { return isa<TensorType>(type); }) ||
          llvm::any_of(op->getOperandTypes(), [](Type type) { return isa<TensorType>(type); });
      if (holdsTensor || isa<scf::ForallOp>(op)) {
        op->emitError("expected buffers and plain loops at the end of level 3, got ")
            << op->getName();
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace headrace
