// Offsets and sizes of slices that are constants become part of the slice.
//
// Before:
//   tensor.extract_slice %x[%i, %c0, %j] [1, 2, 1] : tensor<4x2x2xf32> to tensor<1x2xf32>
// After:
//   tensor.extract_slice %x[%i, 0, %j] [1, 2, 1] : tensor<4x2x2xf32> to tensor<1x2xf32>
//
// MLIR 19 has these patterns itself, but drops the first of several dimensions of one element, not
// the one that was dropped before: to tensor<2x1xf32> above, which is another tensor. Ours are
// tried before.
#include "transform/common/Patterns.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace headrace {
namespace {

struct MixedSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  explicit MixedSlice(OffsetSizeAndStrideOpInterface op)
      : offsets(op.getMixedOffsets()), sizes(op.getMixedSizes()), strides(op.getMixedStrides()) {}

  /// Whether there was a constant.
  bool foldConstants() {
    bool offset = succeeded(foldDynamicOffsetSizeList(offsets));
    bool size = succeeded(foldDynamicOffsetSizeList(sizes));
    bool stride = succeeded(foldDynamicStrideList(strides));
    return offset || size || stride;
  }

  /// The part's type, without the dimensions that were dropped.
  RankedTensorType typeOf(RankedTensorType whole, const llvm::SmallBitVector &dropped) const {
    RankedTensorType all = tensor::ExtractSliceOp::inferResultType(whole, offsets, sizes, strides);
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(all.getShape()))
      if (!dropped.test(dim))
        shape.push_back(size);
    return RankedTensorType::get(shape, whole.getElementType());
  }
};

Value castTo(RewriterBase &rewriter, Value value, Type type) {
  return value.getType() == type
             ? value
             : rewriter.create<tensor::CastOp>(value.getLoc(), type, value).getResult();
}

struct ExtractAtConstants : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    MixedSlice slice(op);
    if (!slice.foldConstants())
      return failure();
    Value part = rewriter.create<tensor::ExtractSliceOp>(
        op.getLoc(), slice.typeOf(op.getSourceType(), op.getDroppedDims()), op.getSource(),
        slice.offsets, slice.sizes, slice.strides);
    rewriter.replaceOp(op, castTo(rewriter, part, op.getType()));
    return success();
  }
};

template <typename Insert> struct InsertAtConstants : OpRewritePattern<Insert> {
  using OpRewritePattern<Insert>::OpRewritePattern;

  LogicalResult matchAndRewrite(Insert op, PatternRewriter &rewriter) const override {
    MixedSlice slice(op);
    if (!slice.foldConstants())
      return failure();
    RankedTensorType type = slice.typeOf(op.getDestType(), op.getDroppedDims());
    // Inside of a parallel region only insertions may be.
    OpBuilder::InsertionGuard guard(rewriter);
    if (isa<tensor::ParallelInsertSliceOp>(op.getOperation()))
      rewriter.setInsertionPoint(op->getParentOp());
    Value part = castTo(rewriter, op.getSource(), type);
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<Insert>(op, part, op.getDest(), slice.offsets, slice.sizes,
                                        slice.strides);
    return success();
  }
};

} // namespace

void populateSliceConstantPatterns(RewritePatternSet &patterns) {
  patterns.add<ExtractAtConstants, InsertAtConstants<tensor::InsertSliceOp>,
               InsertAtConstants<tensor::ParallelInsertSliceOp>>(patterns.getContext(),
                                                                 /*benefit=*/10);
}

} // namespace headrace
