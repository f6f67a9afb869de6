// Schedule "columns": reductions of many elements to few, in two launches.
//
// Before:
//   %s[j] = sum over i of %x[i, j]  {cuda.schedule = {kind = "columns", splits = 64, ...}}
// After:
//   partial[p, j] = sum of x[i, j] over the p-th part of i   one thread a column (`lanes` = 1), or
//                                                            a block for each (`lanes` = threads)
//   s[j] = partial[0, j] + partial[1, j] + ...
//
// The reduced dimensions are walked as one, if they lie so in memory a vector at a time. Parts
// and their order depend on sizes alone, so results do not vary from run to run.
#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {
namespace {

/// The parts of each point of the result in order: by one thread, or shared by the threads of a
/// block as its elements were.
void writeCombination(Stage &stage, const TensorMemory &partial, linalg::GenericOp op) {
  int64_t threads = stage.schedule.threads;
  bool isShared = stage.schedule.lanes > 1;
  KernelWriter kernel(stage.module, stage.op->getLoc(), stage.name + "_combine", threads);
  PointWriter points(kernel, stage.memories);
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  AffineExpr items = elementCount(stage.result.shape, kernel.context());
  Value number = kernel.block(), first = kernel.number(0);
  if (isShared) {
    first = kernel.thread();
  } else {
    number = b.create<arith::AddIOp>(
        loc, b.create<arith::MulIOp>(loc, number, kernel.number(threads)), kernel.thread());
  }
  AffineExpr item = points.addCoordinate(number);
  if (!isShared)
    onlyWhere(kernel, points.less(item, items));
  Value start = points.at(op.getDpsInits().front(), delinearized(item, stage.result.shape)).front();
  auto loop = b.create<scf::ForOp>(loc, first, kernel.number(stage.schedule.splits),
                                   kernel.number(isShared ? threads : 1), start);
  {
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(loop.getBody());
    AffineExpr part = points.addCoordinate(loop.getInductionVar());
    Value next = points.load(partial, {part, item}).front();
    b.create<scf::YieldOp>(loc, combine(b, combinerOf(op), loop.getRegionIterArg(0), next));
  }
  Value sum = loop.getResult(0);
  if (isShared) {
    sum = combineThreads(kernel, combinerOf(op), sum, threads);
    onlyWhere(kernel, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, kernel.thread(),
                                              kernel.number(0)));
  }
  TensorMemory flat = stage.result;
  flat.shape = {items};
  points.store(flat, {item}, {sum});
  stage.launches.push_back(kernel.finish({isShared ? items : items.ceilDiv(threads)}));
}

} // namespace

LogicalResult writeColumns(Stage &stage) {
  const Schedule &schedule = stage.schedule;
  auto op = cast<linalg::GenericOp>(stage.op);
  Operation *combiner = combinerOf(op);
  KernelWriter kernel(stage.module, op.getLoc(), stage.name, schedule.threads);
  PointWriter points(kernel, stage.memories);
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  MLIRContext *context = kernel.context();
  AffineExpr items = elementCount(stage.result.shape, context);
  bool isShared = schedule.lanes > 1; // a block has one point of the result

  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<AffineExpr> depths;
  for (unsigned dim : reduced)
    depths.push_back(loopSize(op, dim));
  // Parts begin where vectors do.
  AffineExpr depth = elementCount(depths, context);
  AffineExpr part = depth.ceilDiv(schedule.splits).ceilDiv(schedule.vector) * schedule.vector;

  AffineExpr itemBlocks = isShared ? items : items.ceilDiv(schedule.threads);
  AffineExpr splits = constantDim(schedule.splits, context);
  Point block = asCoordinates(
      points, delinearized(points.addCoordinate(kernel.block()), {splits, itemBlocks}));
  Value item = points.value(block[1]), isItem;
  if (!isShared) {
    item = b.create<arith::AddIOp>(
        loc, b.create<arith::MulIOp>(loc, item, kernel.number(schedule.threads)), kernel.thread());
    isItem = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, item, points.value(items));
    onlyWhere(kernel, isItem);
  }
  AffineExpr place = points.addCoordinate(item);
  Point loops = loopsAt(op, asCoordinates(points, delinearized(place, stage.result.shape)));
  Value first = points.value(block[0] * part);
  Value end = b.create<arith::MinUIOp>(loc, b.create<arith::AddIOp>(loc, first, points.value(part)),
                                       points.value(depth));
  Value start =
      points.at(op.getDpsInits().front(), delinearized(place, stage.result.shape)).front();
  // Adds the elements from each of the thread's places on, `width` at a time.
  auto accumulate = [&](Value from, Value to, int64_t step, int64_t width, Pack sums) {
    auto loop = b.create<scf::ForOp>(loc, from, to, kernel.number(step), sums);
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(loop.getBody());
    AffineExpr position = points.addCoordinate(loop.getInductionVar());
    for (auto [dim, expr] : llvm::zip_equal(reduced, delinearized(position, depths)))
      loops[dim] = expr;
    points.setLanes(position, width);
    b.create<scf::YieldOp>(loc, points.accumulate(op, loops, Pack(loop.getRegionIterArgs())));
    points.setLanes({}, 1);
    return Pack(loop.getResults());
  };
  Pack sums(schedule.vector, start);
  if (!isShared) {
    sums = accumulate(first, end, 1, 1, sums);
  } else {
    int64_t rest = *constantValue(depth) % schedule.vector;
    Value whole = rest == 0
                      ? end
                      : b.create<arith::MinUIOp>(loc, end, points.value(depth - rest)).getResult();
    Value place = b.create<arith::MulIOp>(loc, kernel.thread(), kernel.number(schedule.vector));
    sums = accumulate(b.create<arith::AddIOp>(loc, first, place), whole,
                      schedule.threads * schedule.vector, schedule.vector, sums);
    if (rest > 0) {
      Value left = b.create<arith::MaxUIOp>(loc, first, whole);
      sums.front() = accumulate(b.create<arith::AddIOp>(loc, left, kernel.thread()), end,
                                schedule.threads, 1, {sums.front()})
                         .front();
    }
  }
  Value sum = sums.front();
  for (Value other : ArrayRef(sums).drop_front())
    sum = combine(b, combiner, sum, other);
  if (isShared) {
    sum = combineThreads(kernel, combiner, sum, schedule.threads);
    onlyWhere(kernel, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, kernel.thread(),
                                              kernel.number(0)));
  }
  TensorMemory partial = stage.result;
  partial.shape = {splits, items};
  if (schedule.splits > 1)
    partial.place =
        stage.allocate(splits * items * std::max(1u, partial.element.getIntOrFloatBitWidth() / 8));
  points.store(partial, {block[0], place}, {sum});
  stage.launches.push_back(kernel.finish({splits * itemBlocks}));
  if (schedule.splits > 1) {
    partial.written = false;
    writeCombination(stage, partial, op);
  }
  return failure(points.failed());
}

} // namespace headrace::cuda
