// The check of data while a program runs: what it means, and how it is evaluated.
#include "dialect/Hr.h"
#include "dialect/SizeAlgebra.h"
#include "dialect/SymbolicShape.h"
#include "dialect/reference/Reference.h"
#include "runtime/program/ValueCheck.h"

#include <algorithm>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

LogicalResult CheckOp::verify() {
  auto element = dyn_cast<IntegerType>(cast<RankedTensorType>(getType()).getElementType());
  if (!element)
    return emitOpError("expected a tensor of integers");
  if (getKind() != CheckKind::Divisor && element.isUnsigned() && element.getWidth() == 64)
    return emitOpError("expected numbers below 2^63, got ") << element;
  if (getBounds().getNumDims() != 0 || getBounds().getNumResults() != 2)
    return emitOpError("expected two bounds over symbols only");
  return success();
}

Movement CheckOp::getMovement() {
  Movement m;
  llvm::append_range(m.domain, shapeOf(getResult()));
  m.iterators.assign(m.domain.size(), utils::IteratorType::parallel);
  // Nothing joins its loops: it reads what is in memory.
  m.maps = {AffineMap(), AffineMap::getMultiDimIdentityMap(m.domain.size(), getContext())};
  return m;
}

ValueCheck CheckOp::getCheck() {
  ValueCheck check;
  check.kind = static_cast<ValueCheck::Kind>(getKind());
  check.subject = getSubject();
  if (auto excepted = getExcepted())
    check.excepted = static_cast<int64_t>(*excepted);
  return check;
}

Tensor CheckOp::evaluate(Tensors inputs, Sizes symbols) {
  ValueCheck check = getCheck();
  check.low = evaluateSize(getBounds().getResult(0), symbols);
  check.high = evaluateSize(getBounds().getResult(1), symbols);
  const Tensor &input = inputs[0];
  if (auto violation = firstViolation(check, input.dtype(), input.data(), input.elements(),
                                      /*pool=*/nullptr))
    throwViolation(check, *violation, input.shape());
  return input;
}

/// The constants whose elements, and no others, are in the value; false if there is more to it.
static bool isMadeOfConstants(Value value, SmallVectorImpl<ConstantOp> &constants) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    constants.push_back(constant);
    return true;
  }
  return op && isa<ReshapeOp, BroadcastOp, TransposeOp, SliceOp, ConcatOp, GatherOp, CheckOp>(op) &&
         llvm::all_of(isa<GatherOp>(op) ? op->getOperands().take_front() : op->getOperands(),
                      [&](Value operand) { return isMadeOfConstants(operand, constants); });
}

bool isAlwaysMet(CheckOp op) {
  SmallVector<ConstantOp> constants;
  if (!isMadeOfConstants(op.getInput(), constants))
    return false;
  // Bounds of dynamic dimensions hold for every one of them if they hold for all that algebra
  // says.
  auto within = [&](int64_t value) {
    AffineExpr low = op.getBounds().getResult(0), high = op.getBounds().getResult(1);
    return isNonNegative(value - low) && isNonNegative(high - (value + 1));
  };
  return llvm::all_of(constants, [&](ConstantOp constant) {
    Tensor values = constant.evaluate({}, {});
    if (values.dtype() == DType::Bool || values.elements() == 0)
      return values.elements() == 0;
    const auto *begin = values.as<int64_t>(), *end = begin + values.elements();
    if (op.getKind() == CheckKind::Divisor)
      return std::find(begin, end, 0) == end;
    auto [least, greatest] = std::minmax_element(begin, end);
    return within(*least) && within(*greatest);
  });
}

FailureOr<SmallVector<Value>> CheckOp::gradient(OpBuilder &, Value) {
  return SmallVector<Value>{Value()}; // of integers there is none
}

FusionRole CheckOp::getFusionRole() { return FusionRole::View; }

} // namespace headrace::hr
