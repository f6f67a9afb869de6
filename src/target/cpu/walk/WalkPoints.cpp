#include "target/cpu/walk/WalkPoints.h"

#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace headrace {

bool WalkPoints::isCarried(WalkStage &stage, WalkOp &op) {
  return llvm::any_of(op.axes, [&](int axis) {
    return op.reduces(axis) && (axis != plan.rowAxis || stage.vectorAxis == plan.rowAxis);
  });
}

SmallVector<Value> WalkPoints::startOf(WalkStage &stage, int64_t rows, int64_t width) {
  SmallVector<Value> state;
  if (width == kNone)
    return state;
  for (size_t index : stage.ops) {
    WalkOp &op = plan.ops[index];
    if (!isCarried(stage, op))
      continue;
    Value start = initOf(op);
    if (width)
      start = splat(start, width);
    state.append(rows, start);
  }
  return state;
}

SmallVector<Value> WalkPoints::emitPoint(WalkStage &stage, ArrayRef<WalkRow> rows, const Axes &at,
                                         int64_t width, ValueRange state) {
  computed.clear();
  loaded.clear();
  SmallVector<Value> next;
  size_t position = 0;
  for (size_t index : stage.ops) {
    WalkOp &op = plan.ops[index];
    if (isCarried(stage, op)) {
      for (size_t i = 0; i < rows.size(); ++i)
        next.push_back(emitBody(stage, op, rows, i, at, width, state[position++]));
    } else if (op.accumulates) {
      Value sum = read(stage, op, op.result, op.resultMap(), rows.front(), at, width);
      for (size_t i = 0; i < rows.size(); ++i)
        sum = emitBody(stage, op, rows, i, at, width, sum);
      write(stage, op, rows.front(), at, width, sum);
    } else {
      for (size_t i = 0; i < rows.size(); ++i) {
        Value value = emitBody(stage, op, rows, i, at, width, {});
        computed[{op.result, i}] = value;
        if (plan.isKept(op))
          write(stage, op, rows[i], at, width, value);
      }
    }
  }
  return next;
}

Value WalkPoints::emitBody(WalkStage &stage, WalkOp &op, ArrayRef<WalkRow> rows, size_t row,
                           const Axes &at, int64_t width, Value accumulator) {
  Block *body = op.op.getBody();
  IRMapping mapping;
  for (auto [operand, argument] : llvm::zip(op.op.getDpsInputOperands(), body->getArguments())) {
    Value value = computed.lookup({operand->get(), row});
    if (!value) {
      AffineMap map = op.op.getMatchingIndexingMap(operand);
      bool perRow = indexes(op, map, plan.rowAxis);
      Value &known = loaded[{operand->get(), perRow ? row : 0}];
      if (!known)
        known = read(stage, op, operand->get(), map, rows[perRow ? row : 0], at, width);
      value = known;
    }
    mapping.map(argument, value);
  }
  for (auto [argument, init] : llvm::zip(op.op.getRegionOutputArgs(), op.inits))
    if (init)
      mapping.map(argument, scalars.lookupOrDefault(init));
  if (accumulator)
    mapping.map(op.op.getRegionOutputArgs()[op.result.getResultNumber()], accumulator);
  for (Operation &inner : body->without_terminator()) {
    bool onVectors = llvm::any_of(inner.getOperands(), [&](Value operand) {
      return isa<VectorType>(mapping.lookupOrDefault(operand).getType());
    });
    IRMapping local;
    for (Value operand : inner.getOperands()) {
      Value value = outside(mapping, operand);
      if (onVectors && !isa<VectorType>(value.getType()))
        value = splat(value, width);
      local.map(operand, value);
    }
    Operation *clone = b.clone(inner, local);
    for (auto [from, to] : llvm::zip(inner.getResults(), clone->getResults())) {
      if (onVectors)
        to.setType(VectorType::get({width}, from.getType()));
      mapping.map(from, to);
    }
  }
  return outside(mapping, body->getTerminator()->getOperand(op.result.getResultNumber()));
}

void WalkPoints::finish(WalkStage &stage, ArrayRef<WalkRow> rows, const Axes &at,
                        ArrayRef<WalkAccumulators> parts) {
  size_t position = 0;
  for (size_t index : stage.ops) {
    WalkOp &op = plan.ops[index];
    if (!isCarried(stage, op))
      continue;
    bool across = stage.vectorAxis >= 0 && op.reduces(stage.vectorAxis);
    SmallVector<Value> totals(op.accumulates ? 1 : rows.size());
    for (const WalkAccumulators &part : parts) {
      if (part.values.empty())
        continue;
      SmallVector<Value> values(ArrayRef(part.values).slice(position * part.rows, part.rows));
      if (op.accumulates) {
        for (size_t i = 1; i < values.size(); ++i)
          values[0] = combine(op, values[0], values[i]);
        values.truncate(1);
      }
      for (auto [total, value] : llvm::zip(totals, values)) {
        Value number = across ? reduceVector(op, value) : value;
        total = total ? combine(op, total, number) : number;
      }
    }
    ++position;
    if (op.accumulates) {
      int64_t width = widthOf(totals.front());
      Value before = read(stage, op, op.result, op.resultMap(), rows.front(), at, width);
      totals.front() = combine(op, before, totals.front());
    }
    for (auto [row, total] : llvm::zip(rows, totals))
      write(stage, op, row, at, widthOf(total), total);
  }
}

Value WalkPoints::reduceVector(WalkOp &op, Value vector) {
  if (!isa<VectorType>(vector.getType()))
    return vector;
  auto kind = linalg::getCombinerOpKind(op.combiner);
  return b.create<vector::ReductionOp>(loc, *kind, vector, arith::FastMathFlags::reassoc);
}

Value WalkPoints::combine(WalkOp &op, Value x, Value y) {
  Operation *clone = b.clone(*op.combiner);
  clone->setOperands({x, y});
  clone->getResult(0).setType(x.getType());
  return clone->getResult(0);
}

bool WalkPoints::indexes(WalkOp &op, AffineMap map, int axis) {
  return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
    return op.axes[cast<AffineDimExpr>(expr).getPosition()] == axis;
  });
}

SmallVector<Value> WalkPoints::indicesOf(WalkOp &op, const WalkPlace &place, AffineMap map,
                                         const WalkRow &row, const Axes &at) {
  SmallVector<Value> indices;
  if (place.kind == WalkPlace::Kind::Block)
    indices.push_back(block);
  for (AffineExpr expr : map.getResults()) {
    int axis = op.axes[cast<AffineDimExpr>(expr).getPosition()];
    if (axis != plan.rowAxis)
      indices.push_back(at.at(axis));
    else
      indices.push_back(place.kind == WalkPlace::Kind::Tile ? row.inTile : row.absolute);
  }
  return indices;
}

/// Whether neighbours along the last dimension are neighbours in memory; a column of a matrix's
/// are not.
static bool isContiguous(Value memory) {
  int64_t start;
  SmallVector<int64_t> strides;
  return succeeded(getStridesAndOffset(cast<MemRefType>(memory.getType()), strides, start)) &&
         strides.back() == 1;
}

Value WalkPoints::read(WalkStage &stage, WalkOp &op, Value value, AffineMap map, const WalkRow &row,
                       const Axes &at, int64_t width) {
  const WalkPlace &place = plan.places[value];
  SmallVector<Value> indices = indicesOf(op, place, map, row, at);
  Type element = cast<MemRefType>(place.memory.getType()).getElementType();
  if (width == 0 || !indexes(op, map, stage.vectorAxis))
    return b.create<memref::LoadOp>(loc, place.memory, indices);
  if (aheadRows && place.kind == WalkPlace::Kind::Rows && plan.isFirstRead(value, op)) {
    SmallVector<Value> ahead = indices;
    ahead.front() = offset(ahead.front(), aheadRows);
    b.create<memref::PrefetchOp>(loc, place.memory, ahead, /*isWrite=*/false, /*localityHint=*/3,
                                 /*isDataCache=*/true);
  }
  auto vector = VectorType::get({width}, element);
  if (isContiguous(place.memory))
    return b.create<vector::LoadOp>(loc, vector, place.memory, indices);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < width; ++i) {
    SmallVector<Value> one = indices;
    one.back() = offset(one.back(), i);
    elements.push_back(b.create<memref::LoadOp>(loc, place.memory, one));
  }
  return b.create<vector::FromElementsOp>(loc, vector, elements);
}

void WalkPoints::write(WalkStage &stage, WalkOp &op, const WalkRow &row, const Axes &at,
                       int64_t width, Value value) {
  const WalkPlace &place = plan.places[op.result];
  AffineMap map = op.resultMap();
  SmallVector<Value> indices = indicesOf(op, place, map, row, at);
  bool asVector = width && indexes(op, map, stage.vectorAxis);
  if (asVector && !isa<VectorType>(value.getType()))
    value = splat(value, width);
  if (asVector)
    b.create<vector::StoreOp>(loc, value, place.memory, indices);
  else
    b.create<memref::StoreOp>(loc, value, place.memory, indices);
}

Value WalkPoints::splat(Value scalar, int64_t width) {
  return b.create<vector::BroadcastOp>(loc, VectorType::get({width}, scalar.getType()), scalar);
}

int64_t WalkPoints::widthOf(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type ? type.getNumElements() : 0;
}

Value WalkPoints::sizeOf(int axis) {
  auto [tensor, dim] = plan.sizes[axis];
  int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  if (!ShapedType::isDynamic(size))
    return constant(size);
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return scalars.lookupOrDefault(empty.getDynamicSize(dim));
  return b.create<memref::DimOp>(loc, plan.places[tensor].memory, dim);
}

int64_t WalkPoints::lanesOf(WalkStage &stage) {
  int64_t bytes = 1;
  for (size_t index : stage.ops)
    for (Type type : plan.ops[index].op.getBody()->getArgumentTypes())
      bytes = std::max<int64_t>(bytes, type.getIntOrFloatBitWidth() / 8);
  return vectorBytes / bytes;
}

} // namespace headrace
