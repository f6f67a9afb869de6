// Maxima and minima in which NaN wins, from either side.
//
//   %m = arith.maximumf %acc, %x
// becomes
//   (x > acc ? x : acc), or x if that is NaN
// which is the CPU's instruction, as it yields its second operand if one is NaN, and a
// choice that does not wait for the accumulator. Of two zeros it may be either. The lanes of a
// vector are combined by halves:
//   %m = vector.reduction <maximumf>, %v : vector<20xf32> into f32
// becomes
//   16 lanes with the other 4, repeated; 8 with 8; 4 with 4; ...
#include "target/cpu/math/Extrema.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace headrace {
namespace {

/// The extremum of an accumulator and a value; NaN if either is NaN.
Value extremum(OpBuilder &b, Location loc, bool isMaximum, Value acc, Value value) {
  auto wins = isMaximum ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
  Value isBeyond = b.create<arith::CmpFOp>(loc, wins, value, acc);
  Value further = b.create<arith::SelectOp>(loc, isBeyond, value, acc);
  Value isNaN = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, value, value);
  return b.create<arith::SelectOp>(loc, isNaN, value, further);
}

Value extremumOfLanes(OpBuilder &b, Location loc, bool isMaximum, Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  while (lanes > 1) {
    int64_t half = llvm::bit_floor(static_cast<uint64_t>(lanes - 1));
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(half + lane % (lanes - half));
    }
    Value first = b.create<vector::ShuffleOp>(loc, vector, vector, low);
    Value second = b.create<vector::ShuffleOp>(loc, vector, vector, high);
    vector = extremum(b, loc, isMaximum, first, second);
    lanes = half;
  }
  return b.create<vector::ExtractOp>(loc, vector, 0);
}

} // namespace

void writeExtrema(Operation *function) {
  auto replace = [](Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  };
  function->walk([&](Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      return replace(
          op, extremum(b, loc, isa<arith::MaximumFOp>(op), op->getOperand(0), op->getOperand(1)));
    auto reduction = dyn_cast<vector::ReductionOp>(op);
    if (!reduction || reduction.getSourceVectorType().getRank() != 1)
      return;
    bool isMaximum = reduction.getKind() == vector::CombiningKind::MAXIMUMF;
    if (!isMaximum && reduction.getKind() != vector::CombiningKind::MINIMUMF)
      return;
    Value value = extremumOfLanes(b, loc, isMaximum, reduction.getVector());
    if (Value acc = reduction.getAcc())
      value = extremum(b, loc, isMaximum, acc, value);
    replace(op, value);
  });
}

} // namespace headrace
