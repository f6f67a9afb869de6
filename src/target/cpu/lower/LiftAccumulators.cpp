// Level 3: keeps accumulators in registers over reduction loops.
//
// Before:
//   scf.for %k { %a = vector.transfer_read %acc ; ... ; vector.transfer_write %r, %acc }
// After:
//   %acc = scf.for %k iter_args(%a = %zero) -> vector<14x32xf32> { ... ; scf.yield %r }
//
// The order of these pattern sets is what makes it work; each was tried out on contractions,
// convolutions and row reductions. Contractions must be recognized before anything folds the unit
// reduction dimension away.
#include "dialect/PatternSets.h"
#include "target/cpu/Passes.h"
#include "transform/common/Patterns.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Interfaces/SubsetOpInterface.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPULIFTACCUMULATORSPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// A tile is read without dimensions of one element. Written with them, as when all that is added
/// up at a time is one product, it would not be seen to be the same elements.
///   transfer_write (shape_cast %v : vector<10x32> to vector<10x1x32>), %acc
///   -> transfer_write %v, %acc {permutation_map = (d0, d1, d2) -> (d0, d2)}
struct WriteWithoutUnits : OpRewritePattern<vector::TransferWriteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::TransferWriteOp write,
                                PatternRewriter &rewriter) const override {
    auto cast = write.getVector().getDefiningOp<vector::ShapeCastOp>();
    if (!cast || write.getMask() || !write.getPermutationMap().isMinorIdentity())
      return rewriter.notifyMatchFailure(write, "no plain write of a cast");
    ArrayRef<int64_t> narrow = cast.getSourceVectorType().getShape();
    ArrayRef<int64_t> wide = cast.getResultVectorType().getShape();
    SmallVector<bool> inBounds = write.getInBoundsValues();
    SmallVector<AffineExpr> kept;
    SmallVector<bool> keptInBounds;
    for (auto [dim, expr] : llvm::enumerate(write.getPermutationMap().getResults())) {
      if (kept.size() < narrow.size() && wide[dim] == narrow[kept.size()]) {
        kept.push_back(expr);
        keptInBounds.push_back(inBounds[dim]);
      } else if (wide[dim] != 1 || !inBounds[dim]) {
        return rewriter.notifyMatchFailure(write, "the cast drops more than units");
      }
    }
    if (kept.size() != narrow.size() || kept.size() == wide.size())
      return rewriter.notifyMatchFailure(write, "the cast adds no units");
    auto map = AffineMap::get(write.getPermutationMap().getNumDims(), 0, kept, getContext());
    rewriter.replaceOpWithNewOp<vector::TransferWriteOp>(
        write, cast.getSource(), write.getSource(), write.getIndices(), AffineMapAttr::get(map),
        rewriter.getBoolArrayAttr(keptInBounds));
    return success();
  }
};

struct CpuLiftAccumulatorsPass : impl::CpuLiftAccumulatorsPassBase<CpuLiftAccumulatorsPass> {
  void runOnOperation() override {
    recognizeContractions();
    apply("write without units", [](RewritePatternSet &patterns) {
      patterns.add<WriteWithoutUnits>(patterns.getContext());
    });
    eliminateCommonSubexpressions();
    hoist();
    foldTransfers();
    eliminateCommonSubexpressions();
  }

private:
  void recognizeContractions() {
    apply("recognize contractions", [](RewritePatternSet &patterns) {
      vector::populateVectorReductionToContractPatterns(patterns);
      vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
      populateSliceTransferPatterns(patterns);
      populateCanonicalizations(patterns);
    });
    bool contracts = getOperation()
                         .walk([](vector::ContractionOp) { return WalkResult::interrupt(); })
                         .wasInterrupted();
    if (contracts)
      return;
    // Leading unit dimensions would otherwise keep vectors out of machine registers.
    apply("drop leading units", [](RewritePatternSet &units) {
      vector::populateCastAwayVectorLeadingOneDimPatterns(units);
      populateSliceTransferPatterns(units);
      populateCanonicalizations(units);
    });
  }

  void hoist() {
    auto hoistInvariants = [&] {
      getOperation().walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
    };
    hoistInvariants();
    IRRewriter rewriter(&getContext());
    SmallVector<LoopLikeOpInterface> loops;
    getOperation().walk([&](LoopLikeOpInterface loop) { loops.push_back(loop); });
    // Innermost first; hoisting replaces the loop, so it is looked up anew each time.
    getOperation().walk(
        [&](LoopLikeOpInterface loop) { (void)hoistLoopInvariantSubsets(rewriter, loop); });
    hoistInvariants();
  }

  void foldTransfers() {
    apply("fold transfers", [](RewritePatternSet &patterns) {
      populateSliceTransferPatterns(patterns);
      tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
      scf::populateSCFForLoopCanonicalizationPatterns(patterns);
      populateCanonicalizations(patterns);
    });
  }

  void eliminateCommonSubexpressions() {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    mlir::eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }

  void apply(StringRef name, PatternSets::Populate populate) {
    (void)applyPatternsAndFoldGreedily(getOperation(),
                                       PatternSets::get(&getContext(), name, populate));
  }
};

} // namespace
} // namespace headrace
