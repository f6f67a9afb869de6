// Level 1: recognizes attention in matmuls around a softmax, whichever front end wrote them.
//
// Before:
//   %s = hr.contract %q, %k maps [(b, i, j, d) -> (b, i, d), (b, j, d), (b, i, j)]
//   %t = hr.map(%s, %bias) { s / 8 + bias }
//   %w = hr.softmax %t {axis = 2}
//   %y = hr.contract %w, %v maps [(b, i, e, j) -> (b, i, j), (b, j, e), (b, i, e)]
// After:
//   %y = hr.attention %q, %k, %v, %bias {scale = 0.125 : f64}
//
// Why: the scores are most of what it moves, and a library that computes the whole keeps them in
// the caches. If none is chosen, it is expanded again, into what it was.
// When it hurts: never alone; scores that something else reads as well are left as they are.
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_RECOGNIZEATTENTIONPASS
#include "transform/Passes.h.inc"

namespace {

using Dims = SmallVector<unsigned>;

Dims dimsOf(hr::ContractOp op, unsigned which) {
  AffineMap map = cast<AffineMapAttr>(op.getMaps()[which]).getValue();
  Dims dims;
  for (AffineExpr expr : map.getResults())
    dims.push_back(cast<AffineDimExpr>(expr).getPosition());
  return dims;
}

/// The value with its dimensions `dims` in the order `wanted`.
Value reordered(OpBuilder &b, Location loc, Value value, const Dims &dims, const Dims &wanted) {
  SmallVector<int64_t> permutation;
  for (unsigned dim : wanted)
    permutation.push_back(llvm::find(dims, dim) - dims.begin());
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  return b.create<hr::TransposeOp>(loc, value, permutation);
}

//===--------------------------------------------------------------------------===//
// Scores: scale * (query key^T) + bias
//===--------------------------------------------------------------------------===//

struct Scores {
  hr::ContractOp product;
  double scale;
  Value bias;
};

/// An operand of a map's only operation.
struct Operand {
  Value tensor;                 // an input of the map, or
  std::optional<double> number; // the same number everywhere
};

std::optional<double> numberOf(Value value) {
  Attribute attribute;
  if (auto constant = value.getDefiningOp<hr::ConstantOp>()) {
    auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValueAttr());
    if (elements && elements.isSplat())
      attribute = elements.getSplatValue<FloatAttr>();
  } else if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    attribute = constant.getValueAttr();
  }
  auto number = dyn_cast_or_null<FloatAttr>(attribute);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

Operand operandOf(hr::MapOp map, Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  Value value = argument ? map.getInputs()[argument.getArgNumber()] : scalar;
  if (auto number = numberOf(value))
    return {argument ? value : Value(), number};
  return {argument ? value : Value(), std::nullopt};
}

/// The map's scalar operation, if it is only one.
Operation *onlyOperation(hr::MapOp map) {
  Block &body = map.getBody().front();
  Operation *computed = body.getTerminator()->getOperand(0).getDefiningOp();
  for (Operation &op : body.without_terminator())
    if (&op != computed && !isa<arith::ConstantOp>(op))
      return nullptr;
  return computed;
}

std::optional<Scores> scoresOf(Value value) {
  if (!value.hasOneUse())
    return std::nullopt;
  if (auto product = value.getDefiningOp<hr::ContractOp>())
    return Scores{product, 1, Value()};
  auto map = value.getDefiningOp<hr::MapOp>();
  Operation *op = map ? onlyOperation(map) : nullptr;
  if (!op || !isa<arith::MulFOp, arith::DivFOp, arith::AddFOp>(op))
    return std::nullopt;
  Operand operands[] = {operandOf(map, op->getOperand(0)), operandOf(map, op->getOperand(1))};
  bool isSum = isa<arith::AddFOp>(op);
  unsigned orders = isa<arith::DivFOp>(op) ? 1 : 2;
  for (unsigned i = 0; i < orders; ++i) {
    const Operand &scored = operands[i], &other = operands[1 - i];
    if (!scored.tensor || scored.number || scored.tensor.getType() != value.getType() ||
        !(isSum ? other.tensor != nullptr : other.number.has_value()))
      continue;
    auto scores = scoresOf(scored.tensor);
    // A scale of what is biased already would be one of the bias as well.
    if (!scores || scores->bias)
      continue;
    if (isSum)
      scores->bias = other.tensor;
    else
      scores->scale *= isa<arith::DivFOp>(op) ? 1 / *other.number : *other.number;
    return scores;
  }
  return std::nullopt;
}

//===--------------------------------------------------------------------------===//
// The whole
//===--------------------------------------------------------------------------===//

/// A product of matrices with leading dimensions, by what the dimensions of its first operand are:
/// all of the other's and the result's but two.
struct Sides {
  Dims batch;
  unsigned row, column, summed;
};

/// Rows are dimensions of `lhs`, columns of `rhs`; everything else is shared.
std::optional<Sides> sidesOf(const Dims &lhs, const Dims &rhs, const Dims &result) {
  Sides sides;
  SmallVector<unsigned> rows, columns, summed;
  for (unsigned dim : lhs) {
    bool isShared = llvm::is_contained(rhs, dim), isKept = llvm::is_contained(result, dim);
    if (!isShared && !isKept)
      return std::nullopt;
    (isShared ? (isKept ? sides.batch : summed) : rows).push_back(dim);
  }
  for (unsigned dim : rhs)
    if (!llvm::is_contained(lhs, dim)) {
      if (!llvm::is_contained(result, dim))
        return std::nullopt;
      columns.push_back(dim);
    }
  if (rows.size() != 1 || columns.size() != 1 || summed.size() != 1)
    return std::nullopt;
  sides.row = rows.front();
  sides.column = columns.front();
  sides.summed = summed.front();
  return sides;
}

Dims withBatch(const Dims &batch, unsigned row, unsigned column) {
  Dims dims = batch;
  dims.append({row, column});
  return dims;
}

/// Replaces the product of weights and values, and says whether it is attention.
bool recognize(hr::ContractOp mixing, unsigned weightsAre) {
  auto softmax = mixing->getOperand(weightsAre).getDefiningOp<hr::SoftmaxOp>();
  if (!softmax || softmax.getLog() || !softmax->hasOneUse())
    return false;
  int64_t last = cast<RankedTensorType>(softmax.getType()).getRank() - 1;
  if (static_cast<int64_t>(softmax.getAxis()) != last)
    return false;
  Dims weightDims = dimsOf(mixing, weightsAre), valueDims = dimsOf(mixing, 1 - weightsAre),
       resultDims = dimsOf(mixing, 2);
  auto mixed = sidesOf(weightDims, valueDims, resultDims);
  if (!mixed || mixed->summed != weightDims.back())
    return false;
  auto scores = scoresOf(softmax.getInput());
  if (!scores)
    return false;

  // Positions of queries, keys and the rest in the scores, and so in the product that makes them.
  Dims scoreDims = dimsOf(scores->product, 2);
  unsigned queryAt = llvm::find(weightDims, mixed->row) - weightDims.begin();
  unsigned keyDim = scoreDims[last];
  Dims lhs = dimsOf(scores->product, 0), rhs = dimsOf(scores->product, 1);
  bool keysAreLeft = llvm::is_contained(lhs, keyDim);
  auto scored = keysAreLeft ? sidesOf(rhs, lhs, scoreDims) : sidesOf(lhs, rhs, scoreDims);
  if (!scored || scored->column != keyDim || scored->row != scoreDims[queryAt])
    return false;
  // A bias stands next to scores in their own order: queries must come right before keys.
  if (scores->bias && queryAt + 1 != last)
    return false;

  Dims scoreBatch, mixedBatch;
  for (unsigned i = 0; i < last; ++i)
    if (i != queryAt) {
      scoreBatch.push_back(scoreDims[i]);
      mixedBatch.push_back(weightDims[i]);
    }
  OpBuilder b(mixing);
  Location loc = mixing.getLoc();
  hr::ContractOp product = scores->product;
  Value query =
      reordered(b, loc, keysAreLeft ? product.getRhs() : product.getLhs(), keysAreLeft ? rhs : lhs,
                withBatch(scoreBatch, scored->row, scored->summed));
  Value key = reordered(b, loc, keysAreLeft ? product.getLhs() : product.getRhs(),
                        keysAreLeft ? lhs : rhs, withBatch(scoreBatch, keyDim, scored->summed));
  Value value = reordered(b, loc, mixing->getOperand(1 - weightsAre), valueDims,
                          withBatch(mixedBatch, mixed->summed, mixed->column));
  Value attention =
      b.create<hr::AttentionOp>(loc, query, key, value, scores->bias, APFloat(scores->scale));
  Dims attended = withBatch(mixedBatch, mixed->row, mixed->column);
  mixing.getResult().replaceAllUsesWith(reordered(b, loc, attention, attended, resultDims));
  mixing.erase();
  return true;
}

struct RecognizeAttentionPass : impl::RecognizeAttentionPassBase<RecognizeAttentionPass> {
  void runOnOperation() override {
    // The operators it replaces have no use any more; the next pass over the program removes them.
    for (auto op : llvm::make_early_inc_range(getOperation().getOps<hr::ContractOp>()))
      if (!recognize(op, 0))
        recognize(op, 1);
  }
};

} // namespace
} // namespace headrace
