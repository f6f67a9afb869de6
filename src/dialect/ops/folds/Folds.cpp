// Reductions of tuples: shape rule, movement and lowering.
#include "dialect/ops/folds/Folds.h"

#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/compute/ScalarRegions.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using utils::IteratorType;

#define GET_OP_CLASSES
#include "dialect/Folds.cpp.inc"

namespace headrace::hr {

LogicalResult FoldOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  AffineMap domain = adaptor.getDomain();
  auto reduced = static_cast<int64_t>(adaptor.getReduced());
  auto component = static_cast<int64_t>(adaptor.getComponent());
  if (domain.getNumDims() != 0)
    return emitOptionalError(loc, "expected a domain of sizes over symbols only");
  if (reduced < 1 || reduced > domain.getNumResults())
    return emitOptionalError(loc, "expected 1 to ", domain.getNumResults(),
                             " reduced dimensions, got ", reduced);
  if (adaptor.getBody().empty() || adaptor.getBody().front().empty())
    return emitOptionalError(loc, "a fold needs a body");
  Operation *yield = adaptor.getBody().front().getTerminator();
  if (component < 0 || component >= yield->getNumOperands())
    return emitOptionalError(loc, "expected a component from 0 to ", yield->getNumOperands() - 1,
                             ", got ", component);
  inferred.push_back(
      tensorType(domain.getResults().drop_back(reduced), yield->getOperand(component).getType()));
  return success();
}

LogicalResult FoldOp::verifyRegions() {
  if (failed(
          verifyPointBody(getOperation(), getDomain(), getMaps(), getInputs(), getBody().front())))
    return failure();
  auto tuple = getBody().front().getTerminator()->getOperandTypes();
  Block &combine = getCombine().front();
  SmallVector<Type> two(tuple.begin(), tuple.end());
  llvm::append_range(two, tuple);
  if (!llvm::equal(combine.getArgumentTypes(), two) ||
      !llvm::equal(combine.getTerminator()->getOperandTypes(), tuple))
    return emitOpError("expected a reduction of two tuples like the body's into one");
  bool fits = getInitial().size() == tuple.size();
  for (size_t i = 0; fits && i < tuple.size(); ++i) {
    auto value = dyn_cast<TypedAttr>(getInitial()[i]);
    fits = value && value.getType() == tuple[i];
  }
  if (!fits)
    return emitOpError("expected an initial value for each component, of its type");
  return verifyScalars(getOperation(), combine, getDomain(), /*isCombine=*/true);
}

Movement FoldOp::getMovement() {
  return movementOf(getOperation(), getDomain(), getReduced(), getMaps(), getTables().size());
}

TypedAttr FoldOp::getInitialValue() { return cast<TypedAttr>(getInitial()[getComponent()]); }

namespace {

/// A point of the result: loops over the reduced dimensions that carry the tuple.
class TupleLoops {
public:
  TupleLoops(FoldOp op, ValueRange inputs)
      : op(op), operands(inputs),
        maps(llvm::to_vector(op.getMaps().getAsValueRange<AffineMapAttr>())) {}

  Value write(OpBuilder &b, Location loc) {
    ArrayRef<AffineExpr> sizes = op.getDomain().getResults();
    unsigned rank = sizes.size() - op.getReduced();
    SmallVector<Value> position, tuple;
    for (unsigned d = 0; d < rank; ++d)
      position.push_back(b.create<linalg::IndexOp>(loc, d));
    for (Attribute initial : op.getInitial())
      tuple.push_back(b.create<arith::ConstantOp>(loc, cast<TypedAttr>(initial)));
    return loop(b, loc, position, tuple)[op.getComponent()];
  }

private:
  /// The loop over the next reduced dimension, or the point itself.
  SmallVector<Value> loop(OpBuilder &b, Location loc, SmallVector<Value> position,
                          ArrayRef<Value> tuple) {
    ArrayRef<AffineExpr> sizes = op.getDomain().getResults();
    if (position.size() == sizes.size())
      return point(b, loc, position, tuple);
    AffineMap extent = symbolMap({sizes[position.size()]}, b.getContext());
    Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
    Value one = b.create<arith::ConstantIndexOp>(loc, 1);
    Value count = b.create<SizeOp>(loc, extent);
    auto found = b.create<scf::ForOp>(
        loc, zero, count, one, tuple,
        [&](OpBuilder &inner, Location at, Value here, ValueRange carried) {
          SmallVector<Value> next = position;
          next.push_back(here);
          inner.create<scf::YieldOp>(at, loop(inner, at, next, llvm::to_vector(carried)));
        });
    return llvm::to_vector(ValueRange(found.getResults()));
  }

  SmallVector<Value> point(OpBuilder &b, Location loc, ArrayRef<Value> position,
                           ArrayRef<Value> tuple) {
    SmallVector<Value> arguments;
    for (auto [map, operand] : llvm::zip(maps, operands)) {
      SmallVector<Value> indices = *affine::expandAffineMap(b, loc, map, position);
      arguments.push_back(b.create<tensor::ExtractOp>(loc, operand, indices));
    }
    llvm::append_range(arguments, operands.drop_front(maps.size()));
    SmallVector<Value> combined(tuple);
    llvm::append_range(combined, inlined(b, op.getBody().front(), arguments, position));
    return inlined(b, op.getCombine().front(), combined, position);
  }

  FoldOp op;
  ValueRange operands;
  SmallVector<AffineMap> maps;
};

} // namespace

FailureOr<Value> FoldOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  auto rank = cast<RankedTensorType>(getType()).getRank();
  Movement m;
  m.iterators.assign(rank, IteratorType::parallel);
  m.maps = {AffineMap::getMultiDimIdentityMap(rank, getContext())};
  return generic(b, loc, m, {}, emptyLike(b, loc, getResult()),
                 [&](OpBuilder &body, Location at, ValueRange) {
                   return TupleLoops(*this, inputs).write(body, at);
                 });
}

} // namespace headrace::hr
