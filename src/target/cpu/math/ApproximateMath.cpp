// Level 3 -> 4: math functions as polynomials.
//
// Before:
//   %e = math.exp %x : vector<64xf32>
// After:
//   arithmetic on vector<64xf32>, within two units in the last place (docs/accuracy.md)
//
// A call of libm per element is ten times slower. Functions without a polynomial stay calls, and
// rounding, which is an instruction, stays what it is. Maxima and minima become comparisons
// (Extrema.cpp).
#include "target/cpu/Passes.h"
#include "target/cpu/math/DoubleMath.h"
#include "target/cpu/math/Extrema.h"
#include "target/cpu/math/SingleMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUAPPROXIMATEMATHPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuApproximateMathPass : impl::CpuApproximateMathPassBase<CpuApproximateMathPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateSingleMathPatterns(patterns);
    populateDoubleMathPatterns(patterns);
    SmallVector<Operation *> functions;
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()))
        functions.push_back(op);
    });
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingAndNewOps;
    (void)applyOpPatternsAndFold(functions, std::move(patterns), config);
    writeExtrema(getOperation());
  }
};

} // namespace
} // namespace headrace
