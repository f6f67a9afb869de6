// Level 3 -> 4: vectors of any rank become vectors of the machine.
//
// Before:
//   vector.contract %a, %b, %acc : vector<14x1xf32>, vector<1x32xf32> into vector<14x32xf32>
// After:
//   14 x { vector.broadcast ; vector.fma : vector<32xf32> }
//
// Pattern sets in this order: a contraction lowered together with what follows it falls apart
// into scalars.
#include "dialect/PatternSets.h"
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

/// A product summed over a single position, one operand of which has all the result's dimensions,
/// is a multiplication. Lowered as a sum it would fall apart into scalars.
struct MultiplyWhatIsNotSummed : OpRewritePattern<vector::ContractionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::ContractionOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getResultType());
    if (!type || !isa<FloatType>(type.getElementType()) ||
        op.getKind() != vector::CombiningKind::ADD || op.getAcc().getType() != type)
      return failure();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto left = lastDims(op, op.getLhsType(), maps[0], maps[2]);
    auto right = lastDims(op, op.getRhsType(), maps[1], maps[2]);
    if (!left || !right || std::max(*left, *right) < type.getRank())
      return failure();
    Value lhs = spread(rewriter, op.getLhs(), *left, type);
    Value rhs = spread(rewriter, op.getRhs(), *right, type);
    rewriter.replaceOpWithNewOp<vector::FMAOp>(op, lhs, rhs, op.getAcc());
    return success();
  }

private:
  /// How many dimensions the operand has in common with the result, where these are the last ones
  /// of both and those before them have one position.
  static std::optional<int64_t> lastDims(vector::ContractionOp op, VectorType type, AffineMap map,
                                         AffineMap result) {
    int64_t common = 0, most = std::min(map.getNumResults(), result.getNumResults());
    ArrayRef<AffineExpr> dims = map.getResults(), wanted = result.getResults();
    while (common < most && dims[dims.size() - 1 - common] == wanted[wanted.size() - 1 - common])
      ++common;
    for (int64_t i = 0; i < type.getRank() - common; ++i)
      if (type.getDimSize(i) != 1 || llvm::is_contained(wanted, dims[i]))
        return std::nullopt;
    return common;
  }

  static Value spread(OpBuilder &b, Value operand, int64_t common, VectorType type) {
    auto own = cast<VectorType>(operand.getType());
    SmallVector<int64_t> first(own.getRank() - common, 0);
    if (!first.empty())
      operand = b.create<vector::ExtractOp>(operand.getLoc(), operand, first);
    return operand.getType() == type
               ? operand
               : b.create<vector::BroadcastOp>(operand.getLoc(), type, operand);
  }
};

struct CpuLowerVectorsPass : impl::CpuLowerVectorsPassBase<CpuLowerVectorsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect, scf::SCFDialect, memref::MemRefDialect,
                    affine::AffineDialect>();
  }

  void runOnOperation() override {
    apply("multiply what is not summed", [](RewritePatternSet &products) {
      products.add<MultiplyWhatIsNotSummed>(products.getContext());
      vector::populateVectorTransferPermutationMapLoweringPatterns(products);
    });
    apply("lower contractions", [](RewritePatternSet &contractions) {
      vector::populateVectorContractLoweringPatterns(
          contractions, vector::VectorTransformsOptions().setVectorTransformsOptions(
                            vector::VectorContractLowering::OuterProduct));
      vector::ContractionOp::getCanonicalizationPatterns(contractions, contractions.getContext());
    });
    apply("lower vectors", [](RewritePatternSet &rest) {
      vector::populateVectorOuterProductLoweringPatterns(rest);
      vector::populateVectorMultiReductionLoweringPatterns(
          rest, vector::VectorMultiReductionLowering::InnerReduction);
      vector::populateVectorTransferLoweringPatterns(rest, /*maxTransferRank=*/1);
      populateVectorToSCFConversionPatterns(
          rest, VectorTransferToSCFOptions().enableFullUnroll(true).setTargetRank(1));
      vector::populateVectorTransposeLoweringPatterns(
          rest, vector::VectorTransformsOptions().setVectorTransposeLowering(
                    vector::VectorTransposeLowering::Shuffle16x16));
      vector::populateVectorShapeCastLoweringPatterns(rest);
      vector::populateVectorBroadcastLoweringPatterns(rest);
    });
  }

private:
  void apply(StringRef name, PatternSets::Populate populate) {
    (void)applyPatternsAndFoldGreedily(getOperation(),
                                       PatternSets::get(&getContext(), name, populate));
  }
};

} // namespace
} // namespace headrace
