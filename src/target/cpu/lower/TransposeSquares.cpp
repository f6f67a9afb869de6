// Before:
//   %t = vector.transpose %x, [1, 0] : vector<8x8xf32> to vector<8x8xf32>
// After:
//   8 x { vector.extract } ; 24 x { vector.shuffle : vector<8xf32>, vector<8xf32> } ;
//   8 x { vector.insert }
//
// In each half of 16 bytes, rows are interleaved with those half the square away until their
// columns stand side by side; then halves change places.
#include "target/cpu/lower/TransposeSquares.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Utils/VectorUtils.h"

using namespace mlir;

namespace headrace {
namespace {

using Mask = SmallVector<int64_t>;

/// Elements of two rows in turns: of the first or the second part of each half.
Mask interleaved(int64_t side, bool second) {
  int64_t half = side / 2;
  Mask mask;
  for (int64_t begin : {int64_t{0}, half})
    for (int64_t i = 0; i < half / 2; ++i) {
      int64_t at = begin + (second ? half / 2 : 0) + i;
      mask.append({at, side + at});
    }
  return mask;
}

/// The first or the second halves of two rows.
Mask halves(int64_t side, bool second) {
  int64_t begin = second ? side / 2 : 0;
  Mask mask;
  for (int64_t row : {int64_t{0}, side})
    for (int64_t i = 0; i < side / 2; ++i)
      mask.push_back(row + begin + i);
  return mask;
}

struct TransposeSquare : OpRewritePattern<vector::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::TransposeOp op, PatternRewriter &rewriter) const override {
    constexpr int64_t rowBytes = 32;
    VectorType type = op.getResultVectorType();
    auto exchanged = isTranspose2DSlice(op);
    if (failed(exchanged) || type.isScalable() || !type.getElementType().isIntOrFloat())
      return rewriter.notifyMatchFailure(op, "does not exchange two dimensions");
    ArrayRef<int64_t> shape = op.getSourceVectorType().getShape();
    int64_t side = shape[exchanged->first], bits = type.getElementTypeBitWidth();
    if ((bits != 32 && bits != 64) || side * bits != 8 * rowBytes ||
        shape[exchanged->second] != side)
      return rewriter.notifyMatchFailure(op, "no square of that size");
    Location loc = op.getLoc();
    auto square = VectorType::get({side, side}, type.getElementType());
    Value source = rewriter.create<vector::ShapeCastOp>(loc, square, op.getVector());
    SmallVector<Value> rows;
    for (int64_t i = 0; i < side; ++i)
      rows.push_back(rewriter.create<vector::ExtractOp>(loc, source, i));
    auto shuffle = [&](Value a, Value b, const Mask &mask) -> Value {
      return rewriter.create<vector::ShuffleOp>(loc, a, b, mask);
    };
    int64_t half = side / 2;
    for (int64_t pass = 1; pass < half; pass *= 2) {
      SmallVector<Value> next(side);
      for (int64_t group : {int64_t{0}, half})
        for (int64_t i = 0; i < half / 2; ++i) {
          Value a = rows[group + i], b = rows[group + i + half / 2];
          next[group + 2 * i] = shuffle(a, b, interleaved(side, false));
          next[group + 2 * i + 1] = shuffle(a, b, interleaved(side, true));
        }
      rows = next;
    }
    Value result = rewriter.create<arith::ConstantOp>(loc, rewriter.getZeroAttr(square));
    for (int64_t i = 0; i < side; ++i) {
      int64_t column = i % half;
      Value row = shuffle(rows[column], rows[half + column], halves(side, i >= half));
      result = rewriter.create<vector::InsertOp>(loc, row, result, i);
    }
    rewriter.replaceOpWithNewOp<vector::ShapeCastOp>(op, type, result);
    return success();
  }
};

} // namespace

void populateTransposeSquaresPatterns(RewritePatternSet &patterns) {
  // Before MLIR's own, which fit any size.
  patterns.add<TransposeSquare>(patterns.getContext(), /*benefit=*/2);
}

} // namespace headrace
