// Gradients of operators that pick and place elements by index: each is the other's way back.
#include "dialect/gradient/Builders.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

Gradients GatherOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  MLIRContext *context = getContext();
  SymbolicShape data = shapeOf(getData());
  AffineExpr picked = elementCount(shapeOf(getIndices()), context);
  AffineExpr outer = elementCount(ArrayRef(data).take_front(getAxis()), context);
  AffineExpr inner = elementCount(ArrayRef(data).drop_front(getAxis() + 1), context);
  Value updates = reshaped(b, loc, dy, {outer, picked, inner});
  Value indices = reshaped(b, loc, getIndices(), {picked});
  Type element = typeOf(getData()).getElementType();
  Value added =
      b.create<ScatterOp>(loc, tensorType({outer, data[getAxis()], inner}, element), updates,
                          indices, Value(), ReduceKindAttr::get(context, ReduceKind::Sum));
  return gradientsOf({reshaped(b, loc, added, data), Value()});
}

namespace {
/// Rows at the scatter's indices.
struct Rows {
  OpBuilder &b;
  ScatterOp op;
  Location loc = op.getLoc();

  Value at(Value whole) { return b.create<GatherOp>(loc, whole, op.getIndices(), /*axis=*/1); }
  Value added(Value rows, Value data) {
    return b.create<ScatterOp>(loc, data.getType(), rows, op.getIndices(), data,
                               ReduceKindAttr::get(op.getContext(), ReduceKind::Sum));
  }
  Value multiplied(Value rows) {
    return b.create<ScatterOp>(loc, op.getType(), rows, op.getIndices(), op.getData(),
                               ReduceKindAttr::get(op.getContext(), ReduceKind::Prod));
  }
  Value map(ValueRange operands, llvm::function_ref<Value(OpBuilder &, ValueRange)> body) {
    return createMap(b, loc, operands, body);
  }
};
} // namespace

static Value number(OpBuilder &b, Value like, double value) {
  return b.create<arith::ConstantOp>(like.getLoc(), b.getFloatAttr(like.getType(), value));
}

static Value isEqual(OpBuilder &b, Value x, Value y) {
  return b.create<arith::CmpFOp>(x.getLoc(), arith::CmpFPredicate::OEQ, x, y);
}

/// All elements that are the extremum share its gradient.
static Gradients gradientOfExtremum(Rows rows, Value dy) {
  ScatterOp op = rows.op;
  auto hits = [&](Value each, Value most) {
    return rows.map({each, most}, [](OpBuilder &i, ValueRange v) -> Value {
      return i.create<arith::SelectOp>(v[0].getLoc(), isEqual(i, v[0], v[1]), number(i, v[0], 1),
                                       number(i, v[0], 0));
    });
  };
  Value ownHits = hits(op.getData(), op.getResult());
  Value rowHits = hits(op.getUpdates(), rows.at(op.getResult()));
  Value number = rows.added(rowHits, ownHits);
  Value share = rows.map({dy, number}, [](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::DivFOp>(v[0].getLoc(), v[0], v[1]);
  });
  return gradientsOf({product(rows.b, rows.loc, rowHits, rows.at(share)), Value(),
                      product(rows.b, rows.loc, ownHits, share)});
}

/// Each factor gets the product of the others: the result divided by the factor; if it is the only
/// zero among the rows of its place, the product without it.
static Gradients gradientOfProduct(Rows rows, Value dy) {
  ScatterOp op = rows.op;
  auto withoutZeros = [&](Value each, Value zeros) {
    return rows.map({each, zeros}, [](OpBuilder &i, ValueRange v) -> Value {
      Value isZero = isEqual(i, v[1], number(i, v[1], 1));
      return i.create<arith::SelectOp>(v[0].getLoc(), isZero, number(i, v[0], 1), v[0]);
    });
  };
  auto zerosOf = [&](Value each) {
    return rows.map({each}, [](OpBuilder &i, ValueRange v) -> Value {
      Value isZero = isEqual(i, v[0], number(i, v[0], 0));
      return i.create<arith::SelectOp>(v[0].getLoc(), isZero, number(i, v[0], 1),
                                       number(i, v[0], 0));
    });
  };
  auto times = [&](Value x, Value y) { return product(rows.b, rows.loc, x, y); };
  auto over = [&](Value x, Value y) {
    return rows.map({x, y}, [](OpBuilder &i, ValueRange v) -> Value {
      return i.create<arith::DivFOp>(v[0].getLoc(), v[0], v[1]);
    });
  };
  Value data = withoutZeros(op.getData(), zerosOf(op.getData()));
  Value others = rows.b.create<ScatterOp>(rows.loc, op.getType(), op.getUpdates(), op.getIndices(),
                                          data, op.getKindAttr());
  Value dData = over(times(dy, others), data);
  Value zeros = zerosOf(op.getUpdates());
  Value none = filled(rows.b, rows.loc, typeOf(op.getResult()), 0);
  Value alone =
      rows.map({zeros, rows.at(rows.added(zeros, none))}, [](OpBuilder &i, ValueRange v) -> Value {
        Value isOne = isEqual(i, v[1], number(i, v[1], 1));
        return i.create<arith::SelectOp>(v[0].getLoc(), isOne, v[0], number(i, v[0], 0));
      });
  Value rest = rows.multiplied(withoutZeros(op.getUpdates(), alone));
  Value divided = over(rows.at(times(dy, op.getResult())), withoutZeros(op.getUpdates(), zeros));
  Value dUpdates =
      rows.map({alone, rows.at(times(dy, rest)), divided}, [](OpBuilder &i, ValueRange v) -> Value {
        return i.create<arith::SelectOp>(v[0].getLoc(), isEqual(i, v[0], number(i, v[0], 1)), v[1],
                                         v[2]);
      });
  return gradientsOf({dUpdates, Value(), dData});
}

/// Elements that were added keep their gradient, replaced ones lose it.
Gradients ScatterOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  if (getKind() && *getKind() != ReduceKind::Sum) {
    if (!getData() || *getKind() == ReduceKind::Mean) {
      emitError("expected a scatter into data that adds, multiplies or compares, to have a "
                "gradient");
      return failure();
    }
    Rows rows{b, *this};
    return *getKind() == ReduceKind::Prod ? gradientOfProduct(rows, dy)
                                          : gradientOfExtremum(rows, dy);
  }
  Value updates = b.create<GatherOp>(loc, dy, getIndices(), /*axis=*/1);
  if (!getData())
    return gradientsOf({updates, Value()});
  if (getKind())
    return gradientsOf({updates, Value(), dy});
  Value zeros = filled(b, loc, typeOf(getUpdates()), 0);
  Value kept = b.create<ScatterOp>(loc, dy.getType(), zeros, getIndices(), dy, ReduceKindAttr());
  return gradientsOf({updates, Value(), kept});
}

} // namespace headrace::hr
