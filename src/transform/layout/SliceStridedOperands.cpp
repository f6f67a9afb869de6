// Level 3: reads with a step become plain reads of a strided slice.
//
// Before:
//   linalg.generic {maps = [(m, c) -> (m * 2, c), ...]} ins(%in : tensor<27x64xf32>, ...)
// After:
//   %s = tensor.extract_slice %in[0, 0] [14, 64] [2, 1] : ... to tensor<14x64xf32>
//   linalg.generic {maps = [(m, c) -> (m, c), ...]} ins(%s, ...)
//
// The vectorizer takes plain dimensions only; without this a convolution with stride 2 stays
// scalar.
#include "transform/Passes.h"
#include "transform/common/Patterns.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_SLICESTRIDEDOPERANDSPASS
#include "transform/Passes.h.inc"

namespace {

/// `d * step` with a constant step > 1: the dimension and the step.
std::optional<std::pair<unsigned, int64_t>> matchStep(AffineExpr expr) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(product.getLHS());
  auto step = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (!dim || !step || step.getValue() < 2)
    return std::nullopt;
  return std::pair(dim.getPosition(), step.getValue());
}

struct SliceStridedOperand : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    bool changed = false;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      AffineMap map = maps[operand->getOperandNumber()];
      auto type = dyn_cast<RankedTensorType>(operand->get().getType());
      if (!type || llvm::none_of(map.getResults(), [](AffineExpr e) { return matchStep(e); }))
        continue;
      SmallVector<OpFoldResult> offsets, sizes, strides;
      SmallVector<AffineExpr> exprs;
      for (auto [i, expr] : llvm::enumerate(map.getResults())) {
        auto step = matchStep(expr);
        if (!step && type.isDynamicDim(i))
          return rewriter.notifyMatchFailure(op, "expects static sizes");
        if (step && ShapedType::isDynamic(ranges[step->first]))
          return rewriter.notifyMatchFailure(op,
                                             "expects a static loop over the stepped dimension");
        offsets.push_back(rewriter.getIndexAttr(0));
        sizes.push_back(rewriter.getIndexAttr(step ? ranges[step->first] : type.getDimSize(i)));
        strides.push_back(rewriter.getIndexAttr(step ? step->second : 1));
        exprs.push_back(step ? getAffineDimExpr(step->first, op.getContext()) : expr);
      }
      Value slice = rewriter.create<tensor::ExtractSliceOp>(op.getLoc(), operand->get(), offsets,
                                                            sizes, strides);
      maps[operand->getOperandNumber()] =
          AffineMap::get(map.getNumDims(), 0, exprs, op.getContext());
      rewriter.modifyOpInPlace(op, [&] { operand->set(slice); });
      changed = true;
    }
    if (!changed)
      return rewriter.notifyMatchFailure(op, "no operand is read with a step");
    rewriter.modifyOpInPlace(op,
                             [&] { op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps)); });
    return success();
  }
};

} // namespace

void populateSliceStridedOperandPatterns(RewritePatternSet &patterns) {
  patterns.add<SliceStridedOperand>(patterns.getContext());
}

namespace {

struct SliceStridedOperandsPass : impl::SliceStridedOperandsPassBase<SliceStridedOperandsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateSliceStridedOperandPatterns(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
