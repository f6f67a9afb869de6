#include "dialect/SymbolicShape.h"
#include "runtime/system/Error.h"
#include "target/coarse/view/OperatorTerms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace headrace::coarse {

void refuse(const Twine &reason) { throw Error(ErrorKind::Unsupported, reason.str()); }

BatchAxis BatchAxis::of(func::FuncOp entry) {
  BatchAxis axis;
  for (BlockArgument argument : entry.getArguments()) {
    SymbolicShape shape = shapeOf(argument);
    if (shape.empty())
      continue;
    std::optional<int64_t> size = constantValue(shape[0]);
    if (!size) {
      axis.expr = shape[0];
      return axis;
    }
    if (*size == 1 && shape.size() > 1)
      axis.expr = shape[0];
  }
  return axis;
}

bool BatchAxis::isOpen() const { return expr && !constantValue(expr); }

bool BatchAxis::leads(Value value) const {
  if (!expr || value.getDefiningOp<hr::ConstantOp>())
    return false;
  SymbolicShape shape = shapeOf(value);
  return shape.size() >= (isOpen() ? 1 : 2) && sameSize(shape[0], expr);
}

rewrite::Shape BatchAxis::inner(Value value) const {
  SymbolicShape dims = shapeOf(value);
  rewrite::Shape shape;
  for (AffineExpr dim : ArrayRef(dims).drop_front(leads(value) ? 1 : 0)) {
    std::optional<int64_t> size = constantValue(dim);
    if (!size)
      refuse("has a dynamic dimension other than the first");
    if (*size == 0)
      refuse("has no elements");
    shape.push_back(*size);
  }
  return shape;
}

} // namespace headrace::coarse
