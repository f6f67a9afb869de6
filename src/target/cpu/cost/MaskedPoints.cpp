#include "target/cpu/cost/MaskedPoints.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace headrace {
namespace {

/// An integer of the body at a point; nothing if it depends on more than the point.
std::optional<int64_t> valueAt(Value value, ArrayRef<int64_t> point) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getBitWidth() == 1 ? static_cast<int64_t>(constant.getBoolValue())
                                       : constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return point[index.getDim()];
  SmallVector<int64_t> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> known = valueAt(operand, point);
    if (!known)
      return std::nullopt;
    operands.push_back(*known);
  }
  if (isa<arith::IndexCastOp>(op))
    return operands[0];
  if (isa<arith::AddIOp>(op))
    return operands[0] + operands[1];
  if (isa<arith::SubIOp>(op))
    return operands[0] - operands[1];
  if (isa<arith::AndIOp>(op))
    return operands[0] & operands[1];
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return static_cast<int64_t>(arith::applyCmpPredicate(
        compare.getPredicate(), APInt(64, static_cast<uint64_t>(operands[0]), true),
        APInt(64, static_cast<uint64_t>(operands[1]), true)));
  return std::nullopt;
}

/// What the reduction accumulates only under a condition; null if there is none.
arith::SelectOp maskOf(linalg::GenericOp op) {
  Operation *combiner = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || op.getNumReductionLoops() == 0)
    return {};
  for (Value operand : combiner->getOperands())
    if (auto select = operand.getDefiningOp<arith::SelectOp>())
      if (matchPattern(select.getFalseValue(), m_Constant()))
        return select;
  return {};
}

} // namespace

double keptShare(linalg::GenericOp op, ArrayRef<double> extents) {
  arith::SelectOp mask = maskOf(op);
  if (!mask)
    return 1;
  // Samples in the middle of equal parts of each dimension, as in a sum of rectangles.
  constexpr int64_t samples = 16, most = 1 << 12;
  int64_t count = 1;
  for (double extent : extents)
    count *= extent > 1 ? samples : 1;
  int64_t kept = 0, seen = 0;
  for (int64_t number = 0; number < std::min(count, most); ++number) {
    int64_t rest = number * std::max<int64_t>(1, count / most);
    SmallVector<int64_t> point;
    for (double extent : extents) {
      int64_t part = extent > 1 ? rest % samples : 0;
      rest = extent > 1 ? rest / samples : rest;
      point.push_back(static_cast<int64_t>((static_cast<double>(part) + 0.5) * extent / samples));
    }
    std::optional<int64_t> isKept = valueAt(mask.getCondition(), point);
    if (!isKept)
      return 1;
    kept += *isKept != 0;
    ++seen;
  }
  return std::max(static_cast<double>(kept) / static_cast<double>(std::max<int64_t>(seen, 1)),
                  1.0 / samples);
}

} // namespace headrace
