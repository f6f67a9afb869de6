// Schedule "points": a thread computes a few neighbouring elements of the result.
//
// Before:
//   %r = linalg.generic ... {cuda.schedule = {kind = "points", threads = 256, vector = 4}}
// After:
//   gpu.func @k(%x, %r) { i = block * 256 + thread; r[4i .. 4i+3] = f(x[4i .. 4i+3]) }
#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace::cuda {

LogicalResult writePoints(Stage &stage) {
  const Schedule &schedule = stage.schedule;
  KernelWriter kernel(stage.module, stage.op->getLoc(), stage.name, schedule.threads);
  PointWriter points(kernel, stage.memories);
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();

  SmallVector<AffineExpr> sizes(stage.result.shape);
  if (schedule.vector > 1)
    sizes.back() = sizes.back().floorDiv(schedule.vector);
  AffineExpr items = elementCount(sizes, kernel.context());
  Value first = b.create<arith::MulIOp>(loc, kernel.block(), kernel.number(schedule.threads));
  AffineExpr item = points.addCoordinate(b.create<arith::AddIOp>(loc, first, kernel.thread()));
  std::optional<int64_t> count = constantValue(items);
  if (!count || *count % schedule.threads != 0)
    onlyWhere(kernel, points.less(item, items));

  Point point = asCoordinates(points, delinearized(item, sizes));
  if (schedule.vector > 1) {
    point.back() = points.addCoordinate(points.value(point.back() * schedule.vector));
    points.setLanes(point.back(), schedule.vector);
  }
  points.store(stage.result, point, points.at(stage.op->getResult(0), point));
  for (const auto &[op, memory] : stage.others)
    points.store(memory, point, points.at(op->getResult(0), point));
  stage.launches.push_back(kernel.finish({items.ceilDiv(schedule.threads)}));
  return failure(points.failed());
}

} // namespace headrace::cuda
