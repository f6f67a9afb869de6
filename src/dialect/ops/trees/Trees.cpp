// Forests of decision trees: shapes, movement, and code for targets without a routine.
#include "dialect/ops/trees/Trees.h"

#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/scalar/Combine.h"

using namespace mlir;
using utils::IteratorType;

#define GET_OP_CLASSES
#include "dialect/Trees.cpp.inc"

namespace headrace::hr {

LogicalResult ForestOp::verify() {
  Type type = typeOf(getRows()).getElementType();
  if (!type.isF32() && !type.isF64())
    return emitOpError("expected rows of f32 or f64, got ") << type;
  auto isTable = [](Value table, int64_t rank, unsigned bits) {
    return typeOf(table).getRank() == rank &&
           typeOf(table).getElementType().isSignlessInteger(bits);
  };
  int64_t nodeRank = type.isF64() ? 2 : 1;
  SymbolicShape rows = shapeOf(getRows()), weights = shapeOf(getWeights()),
                result = shapeOf(getResult()), nodes = shapeOf(getNodes());
  bool fits = rows.size() == 2 && isTable(getRoots(), 1, 32) && isTable(getDepths(), 1, 32) &&
              isTable(getNodes(), nodeRank, 64) && isTable(getLeaves(), 1, 32) &&
              (nodeRank == 1 || constantValue(nodes[1]) == 2) &&
              sameSize(shapeOf(getRoots())[0], shapeOf(getDepths())[0]) &&
              sameSize(nodes[0], shapeOf(getLeaves())[0]);
  if (!fits)
    return emitOpError("expected rows of features, and tables of roots, depths, nodes and leaves");
  if (weights.size() != 2 || result.size() != 2 || !sameSize(result[0], rows[0]) ||
      !sameSize(result[1], weights[1]) || typeOf(getWeights()).getElementType() != type ||
      typeOf(getResult()).getElementType() != type)
    return emitOpError("expected weights and a result of ")
           << type << ", a column for each target, got " << getWeights().getType() << " and "
           << getResult().getType();
  if (getKind() != ReduceKind::Sum && getKind() != ReduceKind::Min && getKind() != ReduceKind::Max)
    return emitOpError("expected sum, min or max, got ") << stringifyReduceKind(getKind());
  int64_t bits = type.isF64() ? 62 : 30;
  if (static_cast<int64_t>(getFeatureBits()) > bits || static_cast<int64_t>(getDepth()) < 0)
    return emitOpError("expected at most ") << bits << " bits of a feature, and a depth";
  return success();
}

/// Leaves lie about half as deep as the deepest one.
Movement ForestOp::getMovement() {
  constexpr int64_t kStep = 8;
  auto steps = static_cast<int64_t>(getDepth()) / 2 + 1;
  Movement m;
  m.domain = {shapeOf(getRows())[0], shapeOf(getRoots())[0],
              getAffineConstantExpr(steps, getContext())};
  m.iterators = {IteratorType::parallel, IteratorType::reduction, IteratorType::reduction};
  m.maps.assign(getNumOperands() + 1, AffineMap());
  m.operationsPerPoint = kStep;
  return m;
}

namespace {

/// The steps of walks as scalar code.
class Stepper {
public:
  Stepper(ForestOp op, OpBuilder &b, Location loc, ArrayRef<Value> tables)
      : op(op), b(b), loc(loc), tables(tables), type(typeOf(op.getRows()).getElementType()) {}

  /// From a place of all trees to the next; its tree begins at `root`.
  Value step(Value place, Value root, Value row) {
    auto [threshold, way] = node(place);
    int64_t bits = op.getFeatureBits();
    Value feature = index(make<arith::AndIOp>(way, number((int64_t(1) << bits) - 1)));
    Value value = make<tensor::ExtractOp>(tables[0], ValueRange{row, feature});
    Value isAbove = make<arith::CmpFOp>(arith::CmpFPredicate::UGT, value, threshold);
    if (op.getTreatsNan()) {
      Value isNaN = make<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
      Value bit = make<arith::AndIOp>(make<arith::ShRUIOp>(way, number(bits)), number(1));
      Value stays =
          make<arith::AndIOp>(isNaN, make<arith::CmpIOp>(arith::CmpIPredicate::ne, bit, number(0)));
      Value no = make<arith::ConstantOp>(b.getBoolAttr(false));
      isAbove = make<arith::SelectOp>(stays, no, isAbove);
    }
    Value next = make<arith::ShRUIOp>(way, number(bits + (op.getTreatsNan() ? 1 : 0)));
    Value after = make<arith::AddIOp>(next, make<arith::SelectOp>(isAbove, number(1), number(0)));
    return make<arith::AddIOp>(root, index(after));
  }

  Value index(Value integer) { return make<arith::IndexCastOp>(b.getIndexType(), integer); }

private:
  template <class Op, class... Args> Value make(Args &&...args) {
    return b.create<Op>(loc, std::forward<Args>(args)...);
  }

  Value number(int64_t value) { return make<arith::ConstantOp>(b.getI64IntegerAttr(value)); }

  std::pair<Value, Value> node(Value place) {
    if (type.isF64()) {
      auto half = [&](int64_t i) {
        Value at = make<arith::ConstantIndexOp>(i);
        return make<tensor::ExtractOp>(tables[1], ValueRange{place, at});
      };
      return {make<arith::BitcastOp>(type, half(0)), half(1)};
    }
    constexpr int64_t kThresholdBits = 32;
    Value word = make<tensor::ExtractOp>(tables[1], ValueRange{place});
    Value low = make<arith::TruncIOp>(b.getI32Type(), word);
    return {make<arith::BitcastOp>(type, low), make<arith::ShRUIOp>(word, number(kThresholdBits))};
  }

  ForestOp op;
  OpBuilder &b;
  Location loc;
  SmallVector<Value, 2> tables; // rows, nodes
  Type type;
};

} // namespace

/// All rows walk all trees, [trees, rows], as many steps as the deepest tree has, in several loops,
/// so that none is too long to compile; then leaves are combined.
FailureOr<Value> ForestOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  constexpr int64_t kMaxSteps = 32;
  Location loc = getLoc();
  MLIRContext *context = getContext();
  auto depth = static_cast<int64_t>(getDepth());
  AffineExpr count = shapeOf(getRows())[0], trees = shapeOf(getRoots())[0];
  Value rows = inputs[0], roots = inputs[1], nodes = inputs[3], leaves = inputs[4],
        weights = inputs[5];
  Type placeType = b.getI32Type(), type = typeOf(getRows()).getElementType();
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context),
             d2 = getAffineDimExpr(2, context);

  Movement walk;
  walk.iterators.assign(2, IteratorType::parallel);
  AffineMap ofTree = AffineMap::get(2, 0, {d0}, context),
            own = AffineMap::get(2, 0, {d0, d1}, context);
  walk.maps = {ofTree, own, own};
  Value here = b.create<linalg::FillOp>(
                    loc, b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(1)).getResult(),
                    emptyTensor(b, loc, {trees, count}, placeType))
                   .getResult(0);
  for (int64_t done = 0; done < depth; done += kMaxSteps)
    here = generic(b, loc, walk, {roots, here}, emptyTensor(b, loc, {trees, count}, placeType),
                   [&](OpBuilder &body, Location at, ValueRange args) -> Value {
                     Stepper stepper(*this, body, at, {rows, nodes});
                     Value row = body.create<linalg::IndexOp>(at, 1);
                     Value root = stepper.index(args[0]);
                     Value place = body.create<arith::AddIOp>(at, root, stepper.index(args[1]));
                     for (int64_t i = done; i < std::min(depth, done + kMaxSteps); ++i)
                       place = stepper.step(place, root, row);
                     Value inTree = body.create<arith::SubIOp>(at, place, root);
                     return body.create<arith::IndexCastOp>(at, placeType, inTree);
                   });

  Movement combine;
  combine.iterators = {IteratorType::parallel, IteratorType::parallel, IteratorType::reduction};
  combine.maps = {AffineMap::get(3, 0, {d2}, context), AffineMap::get(3, 0, {d2, d0}, context),
                  AffineMap::get(3, 0, {d0, d1}, context)};
  Value neutral = b.create<arith::ConstantOp>(loc, neutralValue(getKind(), type));
  Value init =
      b.create<linalg::FillOp>(loc, neutral, emptyTensor(b, loc, shapeOf(getResult()), type))
          .getResult(0);
  return generic(
      b, loc, combine, {roots, here}, init,
      [&](OpBuilder &body, Location at, ValueRange args) -> Value {
        Stepper stepper(*this, body, at, {});
        Value place =
            body.create<arith::AddIOp>(at, stepper.index(args[0]), stepper.index(args[1]));
        Value leaf = stepper.index(body.create<tensor::ExtractOp>(at, leaves, ValueRange{place}));
        Value target = body.create<linalg::IndexOp>(at, 1);
        Value weight = body.create<tensor::ExtractOp>(at, weights, ValueRange{leaf, target});
        return combineValues(body, at, getKind(), args[2], weight);
      });
}

} // namespace headrace::hr
