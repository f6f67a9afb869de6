// Schedule "rows": the threads of a warp, a part of one, or a block share a row.
//
// Before:
//   %m = reduce max over columns ; %e = exp(x - %m) ; %s = reduce add ; %y = %e / %s
//        {cuda.schedule = {kind = "rows", threads = 128, lanes = 32, vector = 4, held = 4}}
// After, for each row:
//   x[4], m = max of them over the lanes, e[4] = exp(x - m), s = sum over the lanes, y = e / s
//
// A thread holds the elements of its columns in registers, each computed once. A row of unknown or
// great length is walked again for every reduction and for the result (`held` = 0).
#include "target/cuda/schedule/Reads.h"
#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {
namespace {

class RowWriter {
public:
  explicit RowWriter(Stage &stage)
      : stage(stage), schedule(stage.schedule),
        kernel(stage.module, stage.op->getLoc(), stage.name, schedule.threads),
        points(kernel, stage.memories), b(kernel.builder()), loc(kernel.loc()) {}

  LogicalResult write();

private:
  bool isReduced() const {
    auto generic = dyn_cast<linalg::GenericOp>(stage.op);
    return generic && generic.getNumReductionLoops() > 0;
  }
  static unsigned reducedDim(linalg::GenericOp op) {
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    return dims.front();
  }
  AffineExpr columnCount() {
    if (isReduced())
      return loopSize(cast<linalg::GenericOp>(stage.op),
                      reducedDim(cast<linalg::GenericOp>(stage.op)));
    return stage.result.shape.back();
  }

  /// A step of the columns that a thread holds.
  struct Column {
    AffineExpr place; // the last elements of the row if it is beyond the end
    Value isInside;   // null: it always is
  };
  void holdColumns(int64_t count);
  void forColumns(llvm::function_ref<void(const Column &)> body);
  Value reduce(linalg::GenericOp op, ArrayRef<AffineExpr> point);
  Value fold(Operation *combiner, Pack values);

  Stage &stage;
  const Schedule &schedule;
  KernelWriter kernel;
  PointWriter points;
  OpBuilder &b;
  Location loc;
  Value lane; // of the row's threads
  SmallVector<Column> held;
  llvm::DenseMap<Value, Value> reduced; // results of the row's reductions
};

Value RowWriter::fold(Operation *combiner, Pack values) {
  while (values.size() > 1) {
    Pack half;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      half.push_back(combine(b, combiner, values[i], values[i + 1]));
    if (values.size() % 2)
      half.push_back(values.back());
    values = half;
  }
  return values.front();
}

/// Beyond the end of a row its last elements are read again, and left out.
void RowWriter::holdColumns(int64_t count) {
  int64_t step = schedule.lanes * schedule.vector;
  Value first = b.create<arith::MulIOp>(loc, lane, kernel.number(schedule.vector));
  for (int64_t i = 0; i < schedule.held; ++i) {
    Value place = b.create<arith::AddIOp>(loc, first, kernel.number(i * step)), isInside;
    if ((i + 1) * step > count) {
      isInside =
          b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, place, kernel.number(count));
      place = b.create<arith::MinUIOp>(loc, place, kernel.number(count - schedule.vector));
    }
    held.push_back({points.addCoordinate(place), isInside});
  }
}

void RowWriter::forColumns(llvm::function_ref<void(const Column &)> body) {
  for (const Column &column : held) {
    points.setLanes(column.place, schedule.vector);
    body(column);
    points.setLanes({}, 1);
  }
}

/// A reduction of the row at a point that does not depend on the column.
Value RowWriter::reduce(linalg::GenericOp op, ArrayRef<AffineExpr> point) {
  Operation *combiner = combinerOf(op);
  Point loops = loopsAt(op, point);
  unsigned dim = reducedDim(op);
  AffineExpr count = loopSize(op, dim);
  points.setLanes({}, 1);
  Value start = points.at(op.getDpsInits().front(), point).front();
  Pack sums(schedule.vector, start);
  if (schedule.held > 0) {
    forColumns([&](const Column &column) {
      loops[dim] = column.place;
      Pack next = points.accumulate(op, loops, sums);
      for (auto [sum, value] : llvm::zip(sums, next))
        sum = column.isInside
                  ? b.create<arith::SelectOp>(loc, column.isInside, value, sum).getResult()
                  : value;
    });
    return combineThreads(kernel, combiner, fold(combiner, sums), schedule.lanes);
  }
  Value first = b.create<arith::MulIOp>(loc, lane, kernel.number(schedule.vector));
  auto loop = b.create<scf::ForOp>(loc, first, points.value(count),
                                   kernel.number(schedule.lanes * schedule.vector), sums);
  {
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(loop.getBody());
    loops[dim] = points.addCoordinate(loop.getInductionVar());
    points.setLanes(loops[dim], schedule.vector);
    b.create<scf::YieldOp>(loc, points.accumulate(op, loops, Pack(loop.getRegionIterArgs())));
    points.setLanes({}, 1);
  }
  return combineThreads(kernel, combiner, fold(combiner, Pack(loop.getResults())), schedule.lanes);
}

LogicalResult RowWriter::write() {
  MLIRContext *context = kernel.context();
  SmallVector<AffineExpr> rowSizes(stage.result.shape);
  if (!isReduced())
    rowSizes.pop_back();
  AffineExpr rows = elementCount(rowSizes, context), columns = columnCount();
  int64_t rowsPerBlock = schedule.threads / schedule.lanes;

  Value thread = kernel.thread(), row = kernel.block();
  if (rowsPerBlock > 1) {
    Value inBlock = b.create<arith::DivUIOp>(loc, thread, kernel.number(schedule.lanes));
    lane = b.create<arith::RemUIOp>(loc, thread, kernel.number(schedule.lanes));
    row = b.create<arith::AddIOp>(
        loc, b.create<arith::MulIOp>(loc, row, kernel.number(rowsPerBlock)), inBlock);
  } else {
    lane = thread;
  }
  // Threads beyond the last row compute it again, since all take part in exchanges; they store
  // nothing.
  std::optional<int64_t> knownRows = constantValue(rows);
  Value isRow;
  if (rowsPerBlock > 1 && (!knownRows || *knownRows % rowsPerBlock != 0)) {
    isRow = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, row, points.value(rows));
    row = b.create<arith::MinUIOp>(loc, row, points.value(rows - 1));
  }
  Point point = asCoordinates(points, delinearized(points.addCoordinate(row), rowSizes));

  if (schedule.held > 0)
    holdColumns(*constantValue(columns));

  // Reductions first, in order: exchanges are in no branch and in no loop.
  Point whole = point;
  if (!isReduced())
    whole.push_back(constantDim(0, context));
  Reads reads = readsOf(stage.op);
  points.setComputer([&](Value value, ArrayRef<AffineExpr>) -> std::optional<Pack> {
    if (Value result = reduced.lookup(value))
      return Pack(points.lanes(), result);
    return std::nullopt;
  });
  SmallVector<Read> reductions(reads.reductions.begin(), reads.reductions.end());
  llvm::sort(reductions, [](const Read &a, const Read &c) {
    return a.value.getDefiningOp()->isBeforeInBlock(c.value.getDefiningOp());
  });
  for (const Read &read : reductions) {
    if (reduced.contains(read.value))
      continue;
    Point place;
    for (AffineExpr expr : read.point)
      place.push_back(expr.replaceDims(whole));
    Value result = reduce(cast<linalg::GenericOp>(read.value.getDefiningOp()), place);
    reduced[read.value] = result;
  }

  auto guard = [&](Value mask) {
    if (isRow)
      mask = mask ? b.create<arith::AndIOp>(loc, mask, isRow).getResult() : isRow;
    if (mask)
      onlyWhere(kernel, mask);
  };
  if (isReduced()) {
    PointWriter::Scope scope(points);
    guard(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lane, kernel.number(0)));
    points.store(stage.result, point, points.compute(stage.op, point));
  } else if (schedule.held > 0) {
    forColumns([&](const Column &column) {
      Point place = point;
      place.push_back(column.place);
      Pack values = points.compute(stage.op, place);
      PointWriter::Scope scope(points);
      guard(column.isInside);
      points.store(stage.result, place, values);
    });
  } else {
    Value first = b.create<arith::MulIOp>(loc, lane, kernel.number(schedule.vector));
    auto loop = b.create<scf::ForOp>(loc, first, points.value(columns),
                                     kernel.number(schedule.lanes * schedule.vector));
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(loop.getBody());
    guard(Value());
    Point place = point;
    place.push_back(points.addCoordinate(loop.getInductionVar()));
    points.setLanes(place.back(), schedule.vector);
    points.store(stage.result, place, points.compute(stage.op, place));
    points.setLanes({}, 1);
  }
  stage.launches.push_back(kernel.finish({rows.ceilDiv(rowsPerBlock)}));
  return failure(points.failed());
}

} // namespace

LogicalResult writeRows(Stage &stage) { return RowWriter(stage).write(); }

} // namespace headrace::cuda
