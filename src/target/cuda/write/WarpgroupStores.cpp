// Sums of warp groups on their way to memory, with all that follows the product.
#include "target/cuda/write/Warpgroups.h"

using namespace mlir;

namespace headrace::cuda {

/// A thread has pairs of neighbouring columns, of its row and of the row eight below. A few columns
/// at a time go through shared memory, so that neighbouring threads store neighbouring elements.
void WarpgroupWriter::storeTile(const Tile &tile, Value sums) {
  Type element = elementOfResult();
  Value lane = rem(thread, word(kWarp)), consumer = b.create<arith::SubIOp>(loc, group, word(1));
  Value inGroup = rem(thread, word(kGroup)), warp = div(inGroup, word(kWarp));
  Value staged = byteAt(shared, add(word(stagedAt(schedule)), mul(consumer, kStagedBytes)));
  auto slot = [&](Value row, Value column) -> Value {
    Value index = add(mul(row, stagedStride()), column);
    return b.create<LLVM::GEPOp>(loc, staged.getType(), element, staged,
                                 ArrayRef<LLVM::GEPArg>{index}, /*inbounds=*/true);
  };
  auto wait = [&] { // for the threads of this group alone
    b.create<NVVM::BarrierOp>(loc, add(consumer, word(1)), word(kGroup));
  };
  auto vectorOf = [&](ArrayRef<Value> values) {
    Value result =
        b.create<LLVM::UndefOp>(loc, VectorType::get(static_cast<int64_t>(values.size()), element));
    for (auto [i, value] : llvm::enumerate(values))
      result = b.create<LLVM::InsertElementOp>(
          loc, result, value,
          b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(i)));
    return result;
  };
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  auto last = constantValue(product.size(product.n));
  int64_t width = last && *last % (16 / bytes) == 0 ? 16 / bytes : 1;
  int64_t across = std::min(kGroup, chunkColumns() / width); // threads next to each other in a row
  Value myRow = div(inGroup, word(across)), myColumn = mul(rem(inGroup, word(across)), width);
  int64_t rowsAtOnce = kGroup / across;

  for (int64_t chunk = 0; chunk < schedule.tileN / chunkColumns(); ++chunk) {
    for (int64_t j = 0; j < chunkColumns() / 8; ++j)
      for (int64_t half = 0; half < 2; ++half) {
        SmallVector<Value> values;
        for (int64_t v = 0; v < 2; ++v) {
          int64_t place = (chunk * chunkColumns() / 8 + j) * 4 + 2 * half + v;
          Value sum = b.create<LLVM::ExtractValueOp>(loc, sums, place);
          values.push_back(
              element.isF32() ? sum : b.create<arith::TruncFOp>(loc, element, sum).getResult());
        }
        Value row = add(add(mul(warp, 16), div(lane, word(4))), word(8 * half));
        Value column = add(mul(rem(lane, word(4)), 2), word(8 * j));
        b.create<LLVM::StoreOp>(loc, vectorOf(values), slot(row, column), 2 * bytes);
      }
    wait();
    auto storeRow = [&](Value row) {
      Value toRow = add(tile.row, add(mul(consumer, kGroupRows), row));
      Value toColumn = add(tile.column, add(myColumn, word(chunk * chunkColumns())));
      storeChunk(tile, toRow, toColumn, width, slot(row, myColumn));
    };
    if (width > 1) {
      // Written out, so that what is read beside the product is on its way for all rows at once.
      for (int64_t first = 0; first < kGroupRows; first += rowsAtOnce) {
        PointWriter::Scope scope(points);
        storeRow(add(myRow, word(first)));
      }
    } else {
      auto loop = b.create<scf::ForOp>(loc, myRow, word(kGroupRows), word(rowsAtOnce));
      PointWriter::Scope scope(points);
      b.setInsertionPointToStart(loop.getBody());
      storeRow(loop.getInductionVar());
    }
    wait();
  }
}

/// `width` neighbouring elements of the product from shared memory, with all that follows it.
void WarpgroupWriter::storeChunk(const Tile &tile, Value row, Value column, int64_t width,
                                 Value from) {
  linalg::GenericOp op = product.op;
  Type element = elementOfResult();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  AffineExpr rows = product.size(product.m), columns = product.size(product.n);
  auto divides = [](AffineExpr size, int64_t by) {
    auto known = constantValue(size);
    return known && *known % by == 0;
  };
  Point loops(op.getNumLoops(), constantDim(0, kernel.context()));
  for (auto [dim, place] : llvm::zip_equal(product.batch, tile.batch))
    loops[dim] = points.addCoordinate(index(place));
  loops[product.m.front()] = points.addCoordinate(index(row));
  loops[product.n.front()] = points.addCoordinate(index(column));
  if (!divides(rows, schedule.tileM))
    onlyWhere(kernel, points.less(loops[product.m.front()], rows));
  if (!divides(columns, schedule.tileN))
    onlyWhere(kernel, points.less(loops[product.n.front()], columns));
  Pack current;
  if (width == 1) {
    current.push_back(b.create<LLVM::LoadOp>(loc, element, from, bytes));
  } else {
    Value all = b.create<LLVM::LoadOp>(loc, VectorType::get(width, element), from, width * bytes);
    for (int64_t v = 0; v < width; ++v)
      current.push_back(b.create<LLVM::ExtractElementOp>(
          loc, all, b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(v))));
  }
  points.setComputer([&](Value value, ArrayRef<AffineExpr>) -> std::optional<Pack> {
    if (value == product.op.getResult(0))
      return current;
    return std::nullopt;
  });
  AffineMap resultMap = op.getIndexingMapMatchingResult(op->getResult(0));
  Point target(stage.result.shape.size());
  for (auto [dim, expr] : llvm::zip_equal(fused.rootDims, resultMap.getResults()))
    target[dim] = expr.replaceDims(loops);
  points.setLanes(loops[product.n.front()], width);
  points.store(stage.result, target, points.compute(stage.op, target));
  points.setLanes({}, 1);
  points.setComputer({});
}

} // namespace headrace::cuda
