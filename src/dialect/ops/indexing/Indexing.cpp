// Elements picked and placed by index.
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/scalar/Combine.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getData());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  SymbolicShape data = shapeOf(type);
  SymbolicShape result(ArrayRef(data).take_front(axis));
  result.append(shapeOf(adaptor.getIndices()));
  result.append(data.begin() + axis + 1, data.end());
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

Movement GatherOp::getMovement() {
  Movement m = overResult(getResult());
  auto indices = cast<RankedTensorType>(getIndices().getType()).getRank();
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < indices; ++i)
    exprs.push_back(getAffineDimExpr(getAxis() + i, getContext()));
  m.maps = {AffineMap(), AffineMap::get(m.domain.size(), 0, exprs, getContext()),
            identityMap(getResult())};
  return m;
}

FailureOr<Value> GatherOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Movement m = getMovement();
  Value data = inputs[0];
  m.maps.erase(m.maps.begin());
  int64_t axis = getAxis(), indexRank = m.maps[0].getNumResults();
  SymbolicShape shape = shapeOf(getData());
  if (constantValue(shape[axis]) == 0)
    return emitError("expected elements to pick along axis ") << axis << ", got none";
  return generic(
      b, getLoc(), m, {inputs[1]}, emptyLike(b, getLoc(), getResult()),
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        Value index = inner.create<arith::IndexCastOp>(loc, inner.getIndexType(), args[0]);
        Value size = inner.create<SizeOp>(loc, symbolMap({shape[axis]}, inner.getContext()));
        Value zero = inner.create<arith::ConstantIndexOp>(loc, 0);
        Value one = inner.create<arith::ConstantIndexOp>(loc, 1);
        Value negative = inner.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, zero);
        Value wrapped = inner.create<arith::SelectOp>(
            loc, negative, inner.create<arith::AddIOp>(loc, index, size), index);
        // An index out of range must not read outside the tensor, whatever the input says.
        Value last = inner.create<arith::SubIOp>(loc, size, one);
        wrapped = inner.create<arith::MaxSIOp>(
            loc, inner.create<arith::MinSIOp>(loc, wrapped, last), zero);
        SmallVector<Value> position;
        for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
          position.push_back(
              i == axis ? wrapped
                        : inner.create<linalg::IndexOp>(loc, i < axis ? i : i + indexRank - 1));
        return inner.create<tensor::ExtractOp>(loc, data, position).getResult();
      });
}

LogicalResult ScatterOp::verify() {
  SymbolicShape updates = shapeOf(getUpdates()), indices = shapeOf(getIndices());
  SymbolicShape result = shapeOf(getResult());
  if (updates.size() != 3 || indices.size() != 1 || result.size() != 3 ||
      !sameSize(updates[1], indices[0]) || !sameSize(updates[0], result[0]) ||
      !sameSize(updates[2], result[2]))
    return emitOpError("expected updates [outer, T, inner], indices [T] and a result [outer, size, "
                       "inner], got ")
           << shapeText(updates) << ", " << shapeText(indices) << " and " << shapeText(result);
  if (getData() && getData().getType() != getResult().getType())
    return emitOpError("expected data of the result's type, got ") << getData().getType();
  if (getKind() == ReduceKind::Mean)
    return emitOpError("expected a reduction other than mean");
  return success();
}

/// Rows go where the indices say; what they do not name is the data's, even if there are none.
Movement ScatterOp::getMovement() {
  Movement m = overResult(getData() ? getResult() : getUpdates());
  m.operationsPerPoint = 1;
  if (getData())
    m.maps = {AffineMap(), AffineMap(), identityMap(getData()), identityMap(getResult())};
  else
    m.maps = {identityMap(getUpdates()), AffineMap::get(3, 0, getAffineDimExpr(1, getContext())),
              AffineMap()};
  return m;
}

/// Unsigned numbers are compared as signed ones in the same order.
FailureOr<Value> ScatterOp::expand(OpBuilder &b) {
  bool compares = getKind() == ReduceKind::Max || getKind() == ReduceKind::Min;
  Type element = getElementTypeOrSelf(getResult());
  if (!compares || !element.isUnsignedInteger() || !getData())
    return failure();
  Value signedUpdates;
  asSigned(b, getLoc(), getUpdates(), [&](Value updates) { return signedUpdates = updates; });
  return asSigned(b, getLoc(), getData(), [&](Value data) -> Value {
    return b.create<ScatterOp>(getLoc(), data.getType(), signedUpdates, getIndices(), data,
                               getKindAttr());
  });
}

/// Row by row, in the order of the updates: results do not depend on threads.
FailureOr<Value> ScatterOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  SymbolicShape updates = shapeOf(getUpdates()), result = shapeOf(getResult());
  if (constantValue(result[1]) == 0)
    return emitError("expected rows to write to, got none");
  auto index = [&](AffineExpr size) {
    return getValueOrCreateConstantIndexOp(b, loc, sizeOperand(b, loc, size));
  };
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  Value one = b.create<arith::ConstantIndexOp>(loc, 1);
  Value size = index(result[1]), count = index(updates[1]);
  SmallVector<OpFoldResult> ones(3, b.getIndexAttr(1));
  SmallVector<OpFoldResult> rowSizes = sizeOperands(b, loc, {updates[0], updates[2]});
  rowSizes.insert(rowSizes.begin() + 1, b.getIndexAttr(1));
  RankedTensorType rowType =
      plainType(tensorType({updates[0], updates[2]}, getElementTypeOrSelf(getResult())));
  Movement m;
  m.maps.assign(2, AffineMap::getMultiDimIdentityMap(2, getContext()));
  m.iterators.assign(2, utils::IteratorType::parallel);
  Value start =
      getData()
          ? b.create<linalg::CopyOp>(loc, inputs[2], emptyLike(b, loc, getResult())).getResult(0)
          : zerosLike(b, loc, getResult());
  auto loop = b.create<scf::ForOp>(
      loc, zero, count, one, start, [&](OpBuilder &inner, Location at, Value i, ValueRange rows) {
        Value given = inner.create<tensor::ExtractOp>(at, inputs[1], i);
        Value row = inner.create<arith::IndexCastOp>(at, inner.getIndexType(), given);
        Value negative = inner.create<arith::CmpIOp>(at, arith::CmpIPredicate::slt, row, zero);
        row = inner.create<arith::SelectOp>(at, negative,
                                            inner.create<arith::AddIOp>(at, row, size), row);
        Value last = inner.create<arith::SubIOp>(at, size, one);
        row = inner.create<arith::MaxSIOp>(at, inner.create<arith::MinSIOp>(at, row, last), zero);
        SmallVector<OpFoldResult> from(3, inner.getIndexAttr(0)), to(from);
        from[1] = i;
        to[1] = row;
        Value update =
            inner.create<tensor::ExtractSliceOp>(at, rowType, inputs[0], from, rowSizes, ones);
        Value old = inner.create<tensor::ExtractSliceOp>(at, rowType, rows[0], to, rowSizes, ones);
        Value put = generic(inner, at, m, {update}, old,
                            [&](OpBuilder &body, Location where, ValueRange args) -> Value {
                              if (!getKind())
                                return args[0];
                              return combineValues(body, where, *getKind(), args[1], args[0]);
                            });
        Value next = inner.create<tensor::InsertSliceOp>(at, put, rows[0], to, rowSizes, ones);
        inner.create<scf::YieldOp>(at, next);
      });
  return loop.getResult(0);
}

bool ScatterOp::addsUp() { return getKind() == ReduceKind::Sum || getKind() == ReduceKind::Prod; }

} // namespace headrace::hr
