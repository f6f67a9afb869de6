#include "target/cpu/recipe/ByteSteps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

/// Terms that are adjacent, and are summed to one number at a time.
constexpr int64_t kTerms = 4;

/// acc + extui(q) * extsi(w)
bool addsProductsOfBytes(linalg::GenericOp op) {
  Block &body = *op.getBody();
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!add)
    return false;
  Value sum = body.getArgument(2);
  Value other = add.getLhs() == sum ? add.getRhs() : add.getLhs();
  auto product = other.getDefiningOp<arith::MulIOp>();
  if (!product || (add.getLhs() != sum && add.getRhs() != sum))
    return false;
  auto widens = [&](Value first, Value second) {
    auto left = first.getDefiningOp<arith::ExtUIOp>();
    auto right = second.getDefiningOp<arith::ExtSIOp>();
    return left && right && left.getIn() == body.getArgument(0) &&
           right.getIn() == body.getArgument(1);
  };
  return widens(product.getLhs(), product.getRhs()) || widens(product.getRhs(), product.getLhs());
}

bool startsAtZero(linalg::GenericOp op) {
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs()[0], m_Zero());
}

bool isOfWidth(Value value, unsigned width) {
  return getElementTypeOrSelf(value).isSignlessInteger(width);
}

bool isProductOfBytes(linalg::GenericOp op) {
  unsigned loops = op.getNumLoops();
  if (op.getNumDpsInputs() != 2 || op.getNumReductionLoops() != 2 || loops < 4 ||
      op.getIteratorTypesArray()[loops - 2] != IteratorType::reduction ||
      op.getIteratorTypesArray()[loops - 1] != IteratorType::reduction)
    return false;
  MLIRContext *context = op.getContext();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineExpr row = getAffineDimExpr(0, context), group = getAffineDimExpr(loops - 2, context),
             term = getAffineDimExpr(loops - 1, context);
  SmallVector<AffineExpr> result{row}, weights{group};
  for (unsigned dim = 1; dim + 2 < loops; ++dim) {
    result.push_back(getAffineDimExpr(dim, context));
    weights.push_back(result.back());
  }
  weights.push_back(term);
  auto weightsType = cast<RankedTensorType>(op->getOperand(1).getType());
  return op.getStaticLoopRanges().back() == kTerms && weightsType.hasStaticShape() &&
         maps[0] == AffineMap::get(loops, 0, {row, group * kTerms + term}, context) &&
         maps[1] == AffineMap::get(loops, 0, weights, context) &&
         maps[2] == AffineMap::get(loops, 0, result, context) && isOfWidth(op->getOperand(0), 8) &&
         isOfWidth(op->getOperand(1), 8) && isOfWidth(op->getOperand(2), 32) &&
         addsProductsOfBytes(op) && startsAtZero(op);
}

class Writer {
public:
  Writer(RewriterBase &b, linalg::GenericOp op, ByteVectors vectors)
      : b(b), op(op), loc(op.getLoc()), vectors(vectors), lanes(vectors.bytes / kTerms),
        factors(op->getOperand(0)) {
    auto type = cast<RankedTensorType>(op->getOperand(1).getType());
    groups = type.getDimSize(0);
    columns = type.getNumElements() / groups / kTerms;
    rows = cast<RankedTensorType>(factors.getType()).getDimSize(0);
  }

  bool fits() const { return groups > 0 && columns > 0 && columns % lanes == 0 && rows != 0; }

  void write() {
    b.setInsertionPoint(op);
    auto given = cast<RankedTensorType>(op->getOperand(1).getType());
    SmallVector<ReassociationIndices> apart{{0}, {}};
    for (int64_t dim = 1; dim < given.getRank(); ++dim)
      apart[1].push_back(dim);
    weights = b.create<tensor::CollapseShapeOp>(loc, op->getOperand(1), apart);
    OpFoldResult rowCount = tensor::getMixedSize(b, loc, factors, 0);
    Value sums = b.create<tensor::EmptyOp>(
        loc, ArrayRef<OpFoldResult>{rowCount, b.getIndexAttr(columns)}, b.getI32Type());
    // Rows come last, so that they find the weights of a tile in the nearest cache.
    int64_t tileRows = rowsOfTile(), tileColumns = vectorsOfTile(tileRows) * lanes;
    sums = overTiles(
        b.getIndexAttr(columns), tileColumns, sums, [&](Value column, int64_t width, Value outer) {
          return overTiles(rowCount, tileRows, outer, [&](Value row, int64_t height, Value inner) {
            return sumTile(row, height, column, width / lanes, inner);
          });
        });
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    SmallVector<ReassociationIndices> together{{0}, {}};
    for (int64_t dim = 1; dim < type.getRank(); ++dim)
      together[1].push_back(dim);
    if (type.getRank() > 2)
      sums = b.create<tensor::ExpandShapeOp>(loc, type, sums, together);
    b.replaceOp(op, sums);
  }

private:
  using Tile = llvm::function_ref<Value(Value offset, int64_t size, Value sums)>;

  /// How many sums a tile has in registers, in vectors.
  int64_t registers() const { return vectors.bytes >= 64 ? 16 : 8; }

  /// Rows share the weights that they are multiplied with.
  int64_t rowsOfTile() const {
    int64_t most = registers() / 2;
    if (ShapedType::isDynamic(rows))
      return most / 2;
    return llvm::divideCeil(rows, llvm::divideCeil(rows, most));
  }
  int64_t vectorsOfTile(int64_t tileRows) const {
    return std::min<int64_t>(llvm::bit_floor(static_cast<uint64_t>(registers() / tileRows)), 8);
  }

  Value index(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }

  /// Loops over whole tiles of a size, then over what they leave over: as one tile, or one by one
  /// if it is not known how much that is.
  Value overTiles(OpFoldResult count, int64_t size, Value sums, Tile tile) {
    auto loop = [&](Value begin, Value end, int64_t step, Value start) -> Value {
      auto over = b.create<scf::ForOp>(loc, begin, end, index(step), start);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(over.getBody());
      Value next = tile(over.getInductionVar(), step, over.getRegionIterArgs()[0]);
      b.create<scf::YieldOp>(loc, next);
      return over.getResult(0);
    };
    Value zero = index(0);
    if (std::optional<int64_t> known = getConstantIntValue(count)) {
      int64_t whole = *known / size * size;
      if (whole > 0)
        sums = loop(zero, index(whole), size, sums);
      return whole < *known ? tile(index(whole), *known - whole, sums) : sums;
    }
    Value end = cast<Value>(count);
    Value rest = b.create<arith::RemUIOp>(loc, end, index(size));
    Value whole = b.create<arith::SubIOp>(loc, end, rest);
    return loop(whole, end, 1, loop(zero, whole, size, sums));
  }

  /// The sums of some rows and vectors of columns, which stay in registers over all terms.
  Value sumTile(Value row, int64_t height, Value column, int64_t width, Value result) {
    auto type = VectorType::get(lanes, b.getI32Type());
    Value zeros = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
    SmallVector<Value> start(height * width, zeros), rowAt, columnAt, weightAt;
    for (int64_t r = 0; r < height; ++r)
      rowAt.push_back(b.create<arith::AddIOp>(loc, row, index(r)));
    for (int64_t v = 0; v < width; ++v) {
      columnAt.push_back(b.create<arith::AddIOp>(loc, column, index(v * lanes)));
      weightAt.push_back(b.create<arith::MulIOp>(loc, columnAt.back(), index(kTerms)));
    }
    auto loop = b.create<scf::ForOp>(loc, index(0), index(groups), index(1), start);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value group = loop.getInductionVar();
      Value term = b.create<arith::MulIOp>(loc, group, index(kTerms));
      SmallVector<Value> read, sums(loop.getRegionIterArgs());
      for (Value at : weightAt)
        read.push_back(bytesAt(weights, {group, at}, vectors.bytes));
      for (int64_t r = 0; r < height; ++r) {
        Value factor = everywhere(bytesAt(factors, {rowAt[r], term}, kTerms));
        for (int64_t v = 0; v < width; ++v) {
          Value &sum = sums[r * width + v];
          sum = withProducts(sum, factor, read[v]);
        }
      }
      b.create<scf::YieldOp>(loc, sums);
    }
    for (int64_t r = 0; r < height; ++r)
      for (int64_t v = 0; v < width; ++v)
        result = b.create<vector::TransferWriteOp>(loc, loop.getResult(r * width + v), result,
                                                   ValueRange{rowAt[r], columnAt[v]},
                                                   ArrayRef<bool>{true})
                     .getResult();
    return result;
  }

  Value bytesAt(Value tensor, ValueRange indices, int64_t count) {
    return b.create<vector::TransferReadOp>(loc, VectorType::get(count, b.getI8Type()), tensor,
                                            indices, ArrayRef<bool>{true});
  }

  /// Four bytes, for every column.
  Value everywhere(Value four) {
    Value word = b.create<vector::BitCastOp>(loc, VectorType::get(1, b.getI32Type()), four);
    Value number = b.create<vector::ExtractOp>(loc, word, 0);
    return b.create<vector::BroadcastOp>(loc, VectorType::get(lanes, b.getI32Type()), number);
  }

  Value call(const Twine &name, Type type, ValueRange operands) {
    return b.create<LLVM::CallIntrinsicOp>(loc, type, b.getStringAttr("llvm.x86." + name), operands)
        .getResult(0);
  }

  /// The sums with four products more in each lane; `factor` is unsigned.
  Value withProducts(Value sums, Value factor, Value weight) {
    Type type = sums.getType();
    if (vectors.hasDotProducts) {
      Value words = b.create<vector::BitCastOp>(loc, type, weight);
      return call("avx512.vpdpbusd." + Twine(8 * vectors.bytes), type, {sums, factor, words});
    }
    // Pairs of 16-bit numbers: bytes 0 and 2 of each lane, then 1 and 3.
    auto pairs = VectorType::get(vectors.bytes / 2, b.getI16Type());
    Value eight = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(pairs, int16_t{8}));
    Value low = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(pairs, int16_t{255}));
    Value q = b.create<vector::BitCastOp>(loc, pairs, factor);
    Value w = b.create<vector::BitCastOp>(loc, pairs, weight);
    Value evenFactors = b.create<arith::AndIOp>(loc, q, low);
    Value oddFactors = b.create<arith::ShRUIOp>(loc, q, eight);
    Value evenWeights =
        b.create<arith::ShRSIOp>(loc, b.create<arith::ShLIOp>(loc, w, eight), eight);
    Value oddWeights = b.create<arith::ShRSIOp>(loc, w, eight);
    StringRef name = vectors.bytes >= 64   ? "avx512.pmaddw.d.512"
                     : vectors.bytes >= 32 ? "avx2.pmadd.wd"
                                           : "sse2.pmadd.wd";
    for (auto [first, second] : {std::pair(evenFactors, evenWeights), {oddFactors, oddWeights}})
      sums = b.create<arith::AddIOp>(loc, sums, call(name, type, {first, second}));
    return sums;
  }

  RewriterBase &b;
  linalg::GenericOp op;
  Location loc;
  const ByteVectors vectors;
  const int64_t lanes;
  Value factors, weights; // [rows, terms], [groups of terms, bytes of all columns]
  int64_t groups, columns, rows;
};

} // namespace

bool multiplyBytes(RewriterBase &rewriter, linalg::GenericOp op, ByteVectors vectors) {
  if (!isProductOfBytes(op))
    return false;
  Writer writer(rewriter, op, vectors);
  if (!writer.fits())
    return false;
  writer.write();
  return true;
}

} // namespace headrace
