// Removes and merges operators by algebraic identities, until none applies.
//
//   %t = hr.transpose %x [1, 0]
//   %u = hr.transpose %t [1, 0]
//   %c = hr.constant dense<2.0> : tensor<1xf32>
//   %y = hr.map(%u, %c) { mulf }
// becomes
//   %y = hr.map(%x) { mulf by 2.0 }
//
// The identities stand in SimplifyMovement.cpp (transposes, reshapes, slices, pads,
// concatenations), SimplifyMaps.cpp (operands of maps), SimplifyWindows.cpp (what only reads
// padding), WindowPhases.cpp (convolutions of zeros) and SimplifyContractions.cpp (1x1
// convolutions, transposes around contractions). Dead values disappear on the way.
//
// Why: each of them removes a pass over memory, and front ends leave many.
// When it hurts: a contraction that absorbs a transpose reads (or writes) with a stride; a copy
// could be cheaper for an operand that is read many times. Targets that pack operands do not mind.
#include "transform/Passes.h"
#include "transform/common/Patterns.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {

#define GEN_PASS_DEF_SIMPLIFYALGEBRAPASS
#include "transform/Passes.h.inc"

namespace {

struct SimplifyAlgebraPass : impl::SimplifyAlgebraPassBase<SimplifyAlgebraPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMovementSimplifications(patterns);
    populateMapSimplifications(patterns);
    populateWindowSimplifications(patterns);
    populateWindowPhases(patterns);
    populateContractionSimplifications(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
