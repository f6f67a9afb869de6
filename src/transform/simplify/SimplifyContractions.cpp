// Contractions: found in 1x1 convolutions, reading or writing through the transposes around, and
// reading what is repeated once.
#include "dialect/SymbolicShape.h"
#include "transform/common/OperatorBuilders.h"
#include "transform/common/Patterns.h"

using namespace mlir;

namespace headrace {
namespace {

AffineMap withResults(AffineMap map, ArrayRef<AffineExpr> results) {
  return AffineMap::get(map.getNumDims(), 0, results, map.getContext());
}

SmallVector<AffineMap> mapsOf(hr::ContractOp op) {
  auto maps = op.getMaps().getAsValueRange<AffineMapAttr>();
  return SmallVector<AffineMap>(maps.begin(), maps.end());
}

/// A convolution whose window is one element is a product over the channels:
/// y[n, s..., f] = sum over c of x[n, s..., c] * w[c, f].
struct PointwiseConvToContract : OpRewritePattern<hr::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConvOp op, PatternRewriter &rewriter) const override {
    if (op.getLayout() != hr::ChannelLayout::Last || op.getGroups() != 1)
      return rewriter.notifyMatchFailure(op, "expects channels last and one group");
    SymbolicShape filter = shapeOf(op.getFilter());
    unsigned spatial = filter.size() - 2;
    bool pointwise = llvm::all_of(ArrayRef(filter).take_front(spatial),
                                  [](AffineExpr size) { return constantValue(size) == 1; }) &&
                     llvm::all_of(op.getStrides(), [](int64_t stride) { return stride == 1; }) &&
                     llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; });
    if (!pointwise)
      return rewriter.notifyMatchFailure(op, "expects a window, strides of 1 and no padding");

    unsigned dims = spatial + 3, feature = spatial + 1, channel = spatial + 2;
    AffineMap image = AffineMap::getMultiDimIdentityMap(dims, getContext());
    SmallVector<AffineExpr> input(image.getResults().take_front(spatial + 1));
    SmallVector<AffineExpr> result(input);
    input.push_back(image.getResult(channel));
    result.push_back(image.getResult(feature));
    AffineMap maps[] = {withResults(image, input),
                        withResults(image, {image.getResult(channel), image.getResult(feature)}),
                        withResults(image, result)};
    Value weights = matrixOf(rewriter, op.getFilter());
    rewriter.replaceOpWithNewOp<hr::ContractOp>(
        op, op.getType(), op.getInput(), weights, rewriter.getAffineMapArrayAttr(maps),
        op.getAccumulatorAttr(), op.getUnsignedInput(), op.getUnsignedFilter());
    return success();
  }

private:
  /// The filter [1..., c, f] as [c, f]. One that was transposed from [f, c, 1...] while the program
  /// runs is the transpose of the matrix [f, c], which a contraction indexes as it is.
  static Value matrixOf(OpBuilder &b, Value filter) {
    SymbolicShape shape = shapeOf(filter);
    auto turned = filter.getDefiningOp<hr::TransposeOp>();
    if (turned && !isKnown(turned.getInput())) {
      ArrayRef<int64_t> from = turned.getPermutation().take_back(2);
      SymbolicShape before{shape.back(), shape[shape.size() - 2]};
      if (from[1] < from[0])
        return transposed(b, filter.getLoc(),
                          reshaped(b, filter.getLoc(), turned.getInput(), before), {1, 0});
    }
    return reshaped(b, filter.getLoc(), filter, ArrayRef(shape).take_back(2));
  }
};

/// A contraction can index a transposed operand as it was before.
struct AbsorbOperandTranspose : OpRewritePattern<hr::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ContractOp op, PatternRewriter &rewriter) const override {
    SmallVector<AffineMap> maps = mapsOf(op);
    bool changed = false;
    SmallVector<Value> operands(op.getOperands());
    for (auto [operand, map] : llvm::zip(operands, maps))
      if (auto transpose = operand.getDefiningOp<hr::TransposeOp>()) {
        map = withResults(map, permuted(map.getResults(), inverse(transpose.getPermutation())));
        operand = transpose.getInput();
        changed = true;
      }
    if (!changed)
      return rewriter.notifyMatchFailure(op, "expects a transposed operand");
    rewriter.modifyOpInPlace(op, [&] {
      op->setOperands(operands);
      op.setMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
    return success();
  }
};

/// A contraction need not index what is repeated along a dimension of the other operand:
/// contract(broadcast(a, [n, k]), b[n, k]) over n = contract(a[k], b[n, k]).
struct AbsorbOperandBroadcast : OpRewritePattern<hr::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ContractOp op, PatternRewriter &rewriter) const override {
    SmallVector<AffineMap> maps = mapsOf(op);
    for (unsigned i : {0, 1}) {
      auto broadcast = op->getOperand(i).getDefiningOp<hr::BroadcastOp>();
      if (!broadcast)
        continue;
      SymbolicShape from = shapeOf(broadcast.getInput()), to = shapeOf(broadcast.getResult());
      size_t added = to.size() - from.size();
      SmallVector<AffineExpr> results, read,
          dims; // what is indexed still, before and after repeating
      for (auto [at, result] : llvm::enumerate(maps[i].getResults())) {
        bool isRepeated = at < added || !sameSize(from[at - added], to[at]);
        if (isRepeated && llvm::is_contained(maps[1 - i].getResults(), result))
          continue;
        results.push_back(result);
        dims.push_back(to[at]);
        if (at >= added)
          read.push_back(from[at - added]);
      }
      if (dims.size() == to.size())
        continue;
      rewriter.setInsertionPoint(op);
      Value operand = reshaped(rewriter, broadcast.getLoc(), broadcast.getInput(), read);
      auto type = tensorType(dims, cast<RankedTensorType>(operand.getType()).getElementType());
      if (operand.getType() != type)
        operand = rewriter.create<hr::BroadcastOp>(broadcast.getLoc(), type, operand);
      maps[i] = withResults(maps[i], results);
      rewriter.modifyOpInPlace(op, [&] {
        op->setOperand(i, operand);
        op.setMapsAttr(rewriter.getAffineMapArrayAttr(maps));
      });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "expects an operand that is repeated along the other's");
  }
};

/// A contraction can write its result transposed, when it has no other user.
struct AbsorbResultTranspose : OpRewritePattern<hr::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::TransposeOp op, PatternRewriter &rewriter) const override {
    auto contract = op.getInput().getDefiningOp<hr::ContractOp>();
    if (!contract || !contract->hasOneUse())
      return rewriter.notifyMatchFailure(op, "expects a contraction used by nothing else");
    SmallVector<AffineMap> maps = mapsOf(contract);
    maps[2] = withResults(maps[2], permuted(maps[2].getResults(), op.getPermutation()));
    // The contraction is what the user wrote; its name stays.
    Value result = rewriter.create<hr::ContractOp>(
        contract.getLoc(), op.getType(), contract.getLhs(), contract.getRhs(),
        rewriter.getAffineMapArrayAttr(maps), contract.getAccumulatorAttr(),
        contract.getUnsignedLhs(), contract.getUnsignedRhs());
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void populateContractionSimplifications(RewritePatternSet &patterns) {
  patterns.add<PointwiseConvToContract, AbsorbOperandTranspose, AbsorbOperandBroadcast,
               AbsorbResultTranspose>(patterns.getContext());
}

} // namespace headrace
