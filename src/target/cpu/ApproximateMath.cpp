// Level 3 -> 4: elementary functions as polynomials.
//
// Before:
//   %e = math.exp %x : vector<64xf32>
// After:
//   arithmetic on vector<64xf32>, within a few units in the last place
//
// A call of libm per element is ten times slower. Functions without a polynomial, or with one of
// five times libm's error or more, stay calls; double precision has its own (DoubleMath). The
// polynomial of the logarithm takes the smallest normal number for all that are smaller: those are
// scaled up first.
#include "target/cpu/DoubleMath.h"
#include "target/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <numbers>

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUAPPROXIMATEMATHPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// log(x) = log(x * 2^24) - log(2^24) where x is less than the smallest normal number.
template <class Log> void scaleSubnormals(func::FuncOp function, double logOfScale) {
  SmallVector<Log> logs;
  function.walk([&](Log op) {
    if (getElementTypeOrSelf(op.getType()).isF32())
      logs.push_back(op);
  });
  for (Log op : logs) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    Type type = op.getType();
    auto constant = [&](double number) -> Value {
      TypedAttr value = b.getF32FloatAttr(static_cast<float>(number));
      if (auto vectorType = dyn_cast<VectorType>(type))
        value = DenseElementsAttr::get(vectorType, value);
      return b.create<arith::ConstantOp>(loc, value);
    };
    Value x = op.getOperand();
    Value small = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x,
                                          constant(std::numeric_limits<float>::min()));
    Value scaled = b.create<arith::MulFOp>(loc, x, constant(1 << 24));
    op.getOperandMutable().assign(b.create<arith::SelectOp>(loc, small, scaled, x));
    b.setInsertionPointAfter(op);
    Value less = b.create<arith::SelectOp>(loc, small, constant(logOfScale), constant(0));
    Value result = b.create<arith::SubFOp>(loc, op.getResult(), less);
    op.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
  }
}

struct CpuApproximateMathPass : impl::CpuApproximateMathPassBase<CpuApproximateMathPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    scaleSubnormals<math::LogOp>(getOperation(), 24 * std::numbers::ln2);
    scaleSubnormals<math::Log2Op>(getOperation(), 24);
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    populateExpandRoundEvenPattern(patterns);
    populateDoubleMathPatterns(patterns);
    SmallVector<Operation *> functions;
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) &&
          !isa<math::SinOp, math::AtanOp, math::Atan2Op, math::CbrtOp>(op))
        functions.push_back(op);
    });
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingAndNewOps;
    (void)applyOpPatternsAndFold(functions, std::move(patterns), config);
  }
};

} // namespace
} // namespace headrace
