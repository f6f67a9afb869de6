// Level 3 -> 4: elementary functions as polynomials.
//
// Before:
//   %e = math.exp %x : vector<64xf32>
// After:
//   arithmetic on vector<64xf32>, within a few units in the last place
//
// A call of libm per element is ten times slower. Functions without a polynomial (and all of double
// precision) stay calls.
#include "target/cpu/Passes.h"

#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUAPPROXIMATEMATHPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuApproximateMathPass : impl::CpuApproximateMathPassBase<CpuApproximateMathPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    populateExpandRoundEvenPattern(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
