// Level 3 -> 4: vectors of any rank become vectors of the machine.
//
// Before:
//   vector.contract %a, %b, %acc : vector<14x1xf32>, vector<1x32xf32> into vector<14x32xf32>
// After:
//   14 x { vector.broadcast ; vector.fma : vector<32xf32> }
//
// Three pattern sets in this order: a contraction lowered together with what follows it falls apart
// into scalars.
#include "target/cpu/Passes.h"

#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPULOWERVECTORSPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuLowerVectorsPass : impl::CpuLowerVectorsPassBase<CpuLowerVectorsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect, scf::SCFDialect, memref::MemRefDialect,
                    affine::AffineDialect>();
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    auto options = vector::VectorTransformsOptions().setVectorTransformsOptions(
        vector::VectorContractLowering::OuterProduct);
    RewritePatternSet contractions(context);
    vector::populateVectorContractLoweringPatterns(contractions, options);
    vector::ContractionOp::getCanonicalizationPatterns(contractions, context);
    apply(std::move(contractions));

    RewritePatternSet rest(context);
    vector::populateVectorOuterProductLoweringPatterns(rest);
    vector::populateVectorMultiReductionLoweringPatterns(
        rest, vector::VectorMultiReductionLowering::InnerReduction);
    vector::populateVectorTransferLoweringPatterns(rest, /*maxTransferRank=*/1);
    populateVectorToSCFConversionPatterns(
        rest, VectorTransferToSCFOptions().enableFullUnroll(true).setTargetRank(1));
    vector::populateVectorTransposeLoweringPatterns(
        rest, vector::VectorTransformsOptions().setVectorTransposeLowering(
                  vector::VectorTransposeLowering::Shuffle1D));
    vector::populateVectorShapeCastLoweringPatterns(rest);
    vector::populateVectorBroadcastLoweringPatterns(rest);
    apply(std::move(rest));
  }

private:
  void apply(RewritePatternSet &&patterns) {
    (void)applyPatternsAndFoldGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace headrace
