// Level 3 -> 4: lowers vectors of any rank to vectors of the machine.
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
#include "target/cpu/lower/TransposeSquares.h"

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

/// Values at one position of a reduction have that dimension of one element last, if
/// it would keep all others out of the machine's vectors.
///   math.exp %x : vector<32x1xf32>
///   -> shape_cast (math.exp (shape_cast %x) : vector<32xf32>)
struct ComputeWithoutLastUnits : RewritePattern {
  explicit ComputeWithoutLastUnits(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
      return failure();
    auto wide = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!wide || wide.getRank() < 2 || wide.isScalable() || wide.getShape().back() != 1 ||
        llvm::any_of(op->getOperandTypes(), [&](Type type) {
          auto vector = dyn_cast<VectorType>(type);
          return !vector || vector.getShape() != wide.getShape();
        }))
      return failure();
    ArrayRef<int64_t> shape = wide.getShape().drop_back();
    while (shape.size() > 1 && shape.back() == 1)
      shape = shape.drop_back();
    auto cast = [&](Value value, VectorType type) -> Value {
      return rewriter.create<vector::ShapeCastOp>(op->getLoc(), type, value);
    };
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          cast(operand, VectorType::get(shape, getElementTypeOrSelf(operand.getType()))));
    Operation *narrow =
        rewriter.create(op->getLoc(), op->getName().getIdentifier(), operands,
                        VectorType::get(shape, wide.getElementType()), op->getAttrs());
    rewriter.replaceOp(op, cast(narrow->getResult(0), wide));
    return success();
  }
};

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
    auto left = lastDims(op.getLhsType(), maps[0], maps[2]);
    auto right = lastDims(op.getRhsType(), maps[1], maps[2]);
    if (!left || !right || std::max(*left, *right) < type.getRank())
      return failure();
    Value lhs = spread(rewriter, op.getLhs(), *left, type);
    Value rhs = spread(rewriter, op.getRhs(), *right, type);
    rewriter.replaceOpWithNewOp<vector::FMAOp>(op, lhs, rhs, op.getAcc());
    return success();
  }

private:
  /// How many dimensions the operand has in common with the result, if these are the last ones
  /// of the result and all others of the operand have one position, which is summed over.
  static std::optional<int64_t> lastDims(VectorType type, AffineMap map, AffineMap result) {
    ArrayRef<AffineExpr> wanted = result.getResults();
    SmallVector<AffineExpr> dims;
    for (auto [size, dim] : llvm::zip(type.getShape(), map.getResults())) {
      if (llvm::is_contained(wanted, dim))
        dims.push_back(dim);
      else if (size != 1)
        return std::nullopt;
    }
    if (dims.size() > wanted.size() || ArrayRef(dims) != wanted.take_back(dims.size()))
      return std::nullopt;
    return dims.size();
  }

  static Value spread(OpBuilder &b, Value operand, int64_t common, VectorType type) {
    auto own = cast<VectorType>(operand.getType());
    Location loc = operand.getLoc();
    ArrayRef<int64_t> kept = type.getShape().take_back(common);
    if (own.getRank() > common && own.getShape().take_back(common) == kept)
      operand = b.create<vector::ExtractOp>(loc, operand,
                                            SmallVector<int64_t>(own.getRank() - common, 0));
    else if (own.getRank() > common)
      operand =
          b.create<vector::ShapeCastOp>(loc, VectorType::get(kept, own.getElementType()), operand);
    return operand.getType() == type ? operand : b.create<vector::BroadcastOp>(loc, type, operand);
  }
};

/// Elements that each fill a row are that many broadcasts. As a transpose of equal rows they would
/// be shuffled together lane by lane.
///   vector.transpose (vector.broadcast %v : vector<5xf32> to vector<43x5xf32>), [1, 0]
///   -> 5 x { vector.extract ; vector.broadcast : vector<43xf32> ; vector.insert }
struct SpreadAlongRows : OpRewritePattern<vector::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::TransposeOp op, PatternRewriter &rewriter) const override {
    auto spread = op.getVector().getDefiningOp<vector::BroadcastOp>();
    VectorType type = op.getResultVectorType();
    if (!spread || type.getRank() != 2 || type.isScalable() ||
        op.getPermutation() != ArrayRef<int64_t>{1, 0})
      return rewriter.notifyMatchFailure(op, "no transpose of equal rows");
    auto elements = dyn_cast<VectorType>(spread.getSourceType());
    if (!elements || elements.getShape() != type.getShape().take_front())
      return rewriter.notifyMatchFailure(op, "the elements of a row are not adjacent");
    auto row = VectorType::get(type.getShape().back(), type.getElementType());
    Value result = rewriter.create<arith::ConstantOp>(op.getLoc(), rewriter.getZeroAttr(type));
    for (int64_t i = 0; i < type.getShape().front(); ++i) {
      Value element = rewriter.create<vector::ExtractOp>(op.getLoc(), spread.getSource(), i);
      Value filled = rewriter.create<vector::BroadcastOp>(op.getLoc(), row, element);
      result = rewriter.create<vector::InsertOp>(op.getLoc(), filled, result, i);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct CpuLowerVectorsPass : impl::CpuLowerVectorsPassBase<CpuLowerVectorsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<vector::VectorDialect, scf::SCFDialect, memref::MemRefDialect,
                    affine::AffineDialect>();
  }

  void runOnOperation() override {
    apply("multiply what is not summed", [](RewritePatternSet &products) {
      products.add<ComputeWithoutLastUnits, MultiplyWhatIsNotSummed, SpreadAlongRows>(
          products.getContext());
      vector::ShapeCastOp::getCanonicalizationPatterns(products, products.getContext());
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
      populateTransposeSquaresPatterns(rest);
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
