// Level 3: vectors are read from and written to tensors themselves, not to slices of them.
//
// Before:
//   %w = vector.transfer_write %v, %x[%i, %j] ; tensor.insert_slice %w into %t[%a, %b] [22, 4]
// After:
//   %s = tensor.insert_slice %x into %t[%a, %b] [22, 4]
//   vector.transfer_write %v, %s[%a + %i, %b + %j]
//
// MLIR's own pattern drops %x, which is right only if the vector covers all of the slice.
#include "transform/common/Patterns.h"

#include "mlir/Dialect/Affine/ViewLikeInterfaceUtils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace headrace {
namespace {

struct InsertBeforeWriting : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::InsertSliceOp insert,
                                PatternRewriter &rewriter) const override {
    auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
    if (!write || write.getMask() || write.hasOutOfBoundsDim() || !insert.hasUnitStride() ||
        coversAll(write))
      return failure();
    Location loc = insert.getLoc();
    llvm::SmallBitVector dropped = insert.getDroppedDims();
    SmallVector<Value> indices;
    affine::resolveIndicesIntoOpWithOffsetsAndStrides(rewriter, loc, insert.getMixedOffsets(),
                                                      insert.getMixedStrides(), dropped,
                                                      write.getIndices(), indices);
    Value untouched = rewriter.create<tensor::InsertSliceOp>(
        loc, write.getSource(), insert.getDest(), insert.getMixedOffsets(), insert.getMixedSizes(),
        insert.getMixedStrides());
    AffineMap map =
        expandDimsToRank(write.getPermutationMap(), insert.getDestType().getRank(), dropped);
    rewriter.replaceOpWithNewOp<vector::TransferWriteOp>(insert, write.getVector(), untouched,
                                                         indices, AffineMapAttr::get(map),
                                                         write.getInBoundsAttr());
    return success();
  }

  static bool coversAll(vector::TransferWriteOp write) {
    auto type = cast<RankedTensorType>(write.getSource().getType());
    return type.hasStaticShape() && type.getNumElements() == write.getVectorType().getNumElements();
  }
};

} // namespace

void populateSliceTransferPatterns(RewritePatternSet &patterns) {
  patterns.add<InsertBeforeWriting>(patterns.getContext(), /*benefit=*/2);
  tensor::populateFoldTensorSubsetIntoVectorTransferPatterns(patterns);
}

} // namespace headrace
