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
#include "transform/simplify/Patterns.h"

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

struct CpuLiftAccumulatorsPass : impl::CpuLiftAccumulatorsPassBase<CpuLiftAccumulatorsPass> {
  void runOnOperation() override {
    recognizeContractions();
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
