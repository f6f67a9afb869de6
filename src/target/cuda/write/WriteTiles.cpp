// Schedule "tiles": a block moves a square tile through shared memory, for transposes.
//
// Before:
//   %r[i, j] = f(%x[j, i])  {cuda.schedule = {kind = "tiles", threads = 256, along = 0}}
// After:
//   tile[j][i] = x[j, i]   threads next to each other along i, which is how x lies
//   barrier
//   r[i, j] = f(tile[j][i]) threads next to each other along j, which is how r lies
#include "target/cuda/schedule/Reads.h"
#include "target/cuda/schedule/TemplateShapes.h"
#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace::cuda {

constexpr int64_t kTile = kTransposedTile;

LogicalResult writeTiles(Stage &stage) {
  const Schedule &schedule = stage.schedule;
  KernelWriter kernel(stage.module, stage.op->getLoc(), stage.name, schedule.threads);
  PointWriter points(kernel, stage.memories);
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  unsigned last = stage.result.shape.size() - 1, along = schedule.along;
  const Read moved = *transposedRead(stage.op);

  // The grid: tiles of the two dimensions, points of all others.
  SmallVector<AffineExpr> sizes(stage.result.shape), tiles(sizes);
  for (unsigned dim : {along, last})
    tiles[dim] = sizes[dim].ceilDiv(kTile);
  Point origin = asCoordinates(points, delinearized(points.addCoordinate(kernel.block()), tiles));
  auto index = [&](unsigned dim, Value offset) -> Value {
    return b.create<arith::AddIOp>(loc, points.value(origin[dim] * kTile), offset);
  };
  Value fast = b.create<arith::RemUIOp>(loc, kernel.thread(), kernel.number(kTile));
  Value slow = b.create<arith::DivUIOp>(loc, kernel.thread(), kernel.number(kTile));
  int64_t rows = schedule.threads / kTile;
  Type element = stage.memories.find(moved.value)->second.element;
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  // One column more, so that a column's elements are in different banks.
  Value shared = kernel.shared(kTile * (kTile + 1) * bytes);
  auto slot = [&](Value row, Value column) -> Value {
    Value place = b.create<arith::AddIOp>(
        loc, b.create<arith::MulIOp>(loc, row, kernel.number(kTile + 1)), column);
    Value wide = b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), place);
    return b.create<LLVM::GEPOp>(loc, shared.getType(), element, shared,
                                 ArrayRef<LLVM::GEPArg>{wide}, /*inbounds=*/true);
  };
  auto eachRow = [&](llvm::function_ref<void(Value row)> body) {
    for (int64_t i = 0; i < kTile; i += rows) {
      PointWriter::Scope scope(points);
      body(b.create<arith::AddIOp>(loc, slow, kernel.number(i)));
    }
  };
  /// The point at these places of the tile; what follows is for those inside only.
  auto enter = [&](Value inAlong, Value inLast) {
    Point point = origin;
    point[along] = points.addCoordinate(index(along, inAlong));
    point[last] = points.addCoordinate(index(last, inLast));
    Value isInside = b.create<arith::AndIOp>(loc, points.less(point[along], sizes[along]),
                                             points.less(point[last], sizes[last]));
    onlyWhere(kernel, isInside);
    return point;
  };
  eachRow([&](Value row) {
    Point point = enter(fast, row), place;
    for (AffineExpr expr : moved.point)
      place.push_back(expr.replaceDims(point));
    Value value = points.at(moved.value, place).front();
    b.create<LLVM::StoreOp>(loc, value, slot(row, fast), bytes);
  });
  b.create<gpu::BarrierOp>(loc);
  eachRow([&](Value row) {
    Point point = enter(row, fast);
    points.setComputer([&](Value value, ArrayRef<AffineExpr>) -> std::optional<Pack> {
      if (value != moved.value)
        return std::nullopt;
      return Pack{b.create<LLVM::LoadOp>(loc, element, slot(fast, row), bytes)};
    });
    points.store(stage.result, point, points.compute(stage.op, point));
    points.setComputer({});
  });
  stage.launches.push_back(kernel.finish({elementCount(tiles, kernel.context())}));
  return failure(points.failed());
}

} // namespace headrace::cuda
