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

/// Over no elements, the result is the initial value.
FailureOr<Value> FoldOp::expand(OpBuilder &b) {
  ArrayRef<AffineExpr> sizes = getDomain().getResults();
  auto reduced = static_cast<size_t>(getReduced());
  if (llvm::none_of(sizes.take_back(reduced),
                    [](AffineExpr size) { return constantValue(size) == 0; }))
    return failure();
  auto op = b.create<ComputeOp>(getLoc(), getType(), ValueRange(), ValueRange(),
                                symbolMap(sizes.drop_back(reduced), getContext()),
                                b.getAffineMapArrayAttr({}), 0, TypedAttr());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&op.getBody());
  auto initial = cast<TypedAttr>(getInitial()[getComponent()]);
  b.create<YieldOp>(getLoc(), b.create<arith::ConstantOp>(getLoc(), initial).getResult());
  return op.getResult();
}

namespace {

/// A point of the result: loops over the reduced dimensions that carry the tuple. Each element
/// waits for the tuple of those before, so the last dimension is cut into a few parts, in order,
/// whose tuples are computed side by side and combined in that order:
///
///   for k in 0 .. n / 2: a = combine(a, x[k]); b = combine(b, x[n / 2 + k])
///   a = combine(a, b)
///   for k in n / 2 * 2 .. n: a = combine(a, x[k])
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
  /// How many parts of the last dimension are computed side by side.
  int64_t chains() {
    int64_t operations = 0;
    for (Region *region : {&op.getBody(), &op.getCombine()})
      region->walk([&](Operation *) { ++operations; });
    constexpr int64_t most = 8, few = 4, manyOperations = 24, tooMany = 64;
    int64_t count = operations <= manyOperations ? most : operations <= tooMany ? few : 1;
    std::optional<int64_t> size = constantValue(op.getDomain().getResults().back());
    return size && *size < 2 * count ? 1 : count;
  }

  /// The loop over the next reduced dimension, or the point itself.
  SmallVector<Value> loop(OpBuilder &b, Location loc, SmallVector<Value> position,
                          ArrayRef<Value> tuple) {
    ArrayRef<AffineExpr> sizes = op.getDomain().getResults();
    if (position.size() == sizes.size())
      return point(b, loc, position, tuple);
    AffineMap extent = symbolMap({sizes[position.size()]}, b.getContext());
    Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
    Value count = b.create<SizeOp>(loc, extent);
    if (position.size() + 1 == sizes.size())
      if (int64_t parts = chains(); parts > 1)
        return inParts(b, loc, position, tuple, count, parts);
    return sequence(b, loc, position, tuple, zero, count);
  }

  SmallVector<Value> sequence(OpBuilder &b, Location loc, ArrayRef<Value> position,
                              ArrayRef<Value> tuple, Value begin, Value end) {
    Value one = b.create<arith::ConstantIndexOp>(loc, 1);
    auto found = b.create<scf::ForOp>(
        loc, begin, end, one, tuple,
        [&](OpBuilder &inner, Location at, Value here, ValueRange carried) {
          SmallVector<Value> next(position);
          next.push_back(here);
          inner.create<scf::YieldOp>(at, loop(inner, at, next, llvm::to_vector(carried)));
        });
    return llvm::to_vector(ValueRange(found.getResults()));
  }

  SmallVector<Value> inParts(OpBuilder &b, Location loc, ArrayRef<Value> position,
                             ArrayRef<Value> tuple, Value count, int64_t parts) {
    auto index = [&](OpBuilder &at, int64_t value) {
      return at.create<arith::ConstantIndexOp>(loc, value).getResult();
    };
    Value zero = index(b, 0), length = b.create<arith::DivUIOp>(loc, count, index(b, parts));
    SmallVector<Value> begins(1, zero), all(tuple);
    for (int64_t part = 1; part < parts; ++part) {
      begins.push_back(b.create<arith::MulIOp>(loc, length, index(b, part)));
      for (Attribute initial : op.getInitial())
        all.push_back(b.create<arith::ConstantOp>(loc, cast<TypedAttr>(initial)));
    }
    size_t width = tuple.size();
    auto parallel = b.create<scf::ForOp>(
        loc, zero, length, index(b, 1), all,
        [&](OpBuilder &inner, Location at, Value here, ValueRange carried) {
          SmallVector<Value> next;
          for (auto [part, begin] : llvm::enumerate(begins)) {
            SmallVector<Value> place(position);
            place.push_back(inner.create<arith::AddIOp>(at, begin, here));
            llvm::append_range(
                next, point(inner, at, place, llvm::to_vector(carried.slice(part * width, width))));
          }
          inner.create<scf::YieldOp>(at, next);
        });
    ValueRange results = parallel.getResults();
    auto combineAll = [&](OpBuilder &at) {
      SmallVector<Value> combined = llvm::to_vector(results.take_front(width));
      for (int64_t part = 1; part < parts; ++part) {
        llvm::append_range(combined, results.slice(part * width, width));
        combined = inlined(at, op.getCombine().front(), combined, position);
      }
      return combined;
    };
    SmallVector<Value> combined;
    if (constantValue(op.getDomain().getResults().back())) {
      combined = combineAll(b);
    } else {
      // Nothing may be made of initial values alone: they are divided by their number.
      Value any = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, length, zero);
      auto found = b.create<scf::IfOp>(
          loc, any,
          [&](OpBuilder &inner, Location at) { inner.create<scf::YieldOp>(at, combineAll(inner)); },
          [&](OpBuilder &inner, Location at) {
            inner.create<scf::YieldOp>(at, results.take_front(width));
          });
      combined = llvm::to_vector(ValueRange(found.getResults()));
    }
    Value done = b.create<arith::MulIOp>(loc, length, index(b, parts));
    return sequence(b, loc, position, combined, done, count);
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
