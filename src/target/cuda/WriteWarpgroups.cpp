// Schedule "warpgroups": a matrix product of bf16 or f16 on Hopper's tensor cores.
//
// Before:
//   %c = contraction of bf16 ; %r = f(%c)
//        {cuda.schedule = {kind = "warpgroups", tileM = 128, tileN = 256, tileK = 64, stages = 4}}
// After, in each of as many blocks as there are multiprocessors, for its tiles of the result:
//   one thread:       copies tiles of A and B into a ring of `stages` in shared memory (TMA)
//   two warp groups:  wait for a stage, multiply it into 64 rows each (wgmma), free it;
//                     then r = f(c), through shared memory, stored 16 bytes at a time
//
// Copies fill with zeros what lies beyond a matrix, so the depth needs no care; rows and columns
// beyond the edge are not stored. Both ends of the ring are barriers in shared memory: "full" waits
// for the bytes of a stage, "empty" for its readers.
#include "target/cuda/Product.h"
#include "target/cuda/TemplateShapes.h"
#include "target/cuda/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

constexpr int64_t kTicks = 10000000;     // how long one try to pass a barrier lasts
constexpr int64_t kTileRowsTogether = 8; // tiles whose rows are walked before the next columns

class WarpgroupWriter : WarpgroupShape {
public:
  WarpgroupWriter(Stage &stage, FusedProduct fused)
      : stage(stage), schedule(stage.schedule), fused(fused), product(this->fused.product),
        kernel(stage.module, stage.op->getLoc(), stage.name, schedule.threads),
        points(kernel, stage.memories), b(kernel.builder()), loc(kernel.loc()) {}

  LogicalResult write();

private:
  Value word(int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, 32); }
  Value wide(int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, 64); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value mul(Value x, int64_t y) { return b.create<arith::MulIOp>(loc, x, word(y)); }
  Value div(Value x, Value y) { return b.create<arith::DivUIOp>(loc, x, y); }
  Value rem(Value x, Value y) { return b.create<arith::RemUIOp>(loc, x, y); }
  Value size(AffineExpr expr) {
    return b.create<arith::IndexCastUIOp>(loc, b.getI32Type(), points.value(expr));
  }
  Value index(Value number) {
    return b.create<arith::IndexCastUIOp>(loc, b.getIndexType(), number);
  }
  Value equal(Value x, Value y) {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
  }
  Value byteAt(Value base, Value offset) {
    return b.create<LLVM::GEPOp>(loc, base.getType(), b.getI8Type(), base,
                                 ArrayRef<LLVM::GEPArg>{offset});
  }
  Value byteAt(Value base, int64_t offset) {
    return b.create<LLVM::GEPOp>(loc, base.getType(), b.getI8Type(), base,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  }

  bool columnsLieTogether() const; // B is [k, n] rather than [n, k]
  int64_t bytesOfA() const { return schedule.tileM * schedule.tileK * kElementBytes; }
  int64_t bytesOfB() const { return schedule.tileN * schedule.tileK * kElementBytes; }
  int64_t stageBytes() const { return bytesOfA() + bytesOfB(); }
  int64_t barriersAt() const { return WarpgroupShape::barriersAt(schedule); }
  Type elementOfResult() {
    return cast<RankedTensorType>(product.op.getResult(0).getType()).getElementType();
  }
  // What is stored goes through shared memory a few columns at a time.
  int64_t chunkColumns() { return kRowBytes * 8 / elementOfResult().getIntOrFloatBitWidth(); }
  int64_t stagedStride() {
    return kStagedBytes * 8 / kGroupRows / elementOfResult().getIntOrFloatBitWidth();
  }

  struct Ring {
    Value full, empty; // barriers of the stage
    Value phase;       // how often the ring went round, modulo 2
    Value offset;      // of the stage's tiles
  };
  Ring ringAt(Value step);
  struct Tile {
    Value batch, row, column;
  };
  Tile tileAt(Value number);
  void initializeBarriers();
  /// Calls `body` for each tile of the block with the number of steps so far; it returns the next.
  void forTiles(llvm::function_ref<Value(const Tile &, Value step)> body);
  void produce();
  void consume();
  void storeTile(const Tile &tile, Value sums);
  void storeChunk(const Tile &tile, Value row, Value column, int64_t width, Value from);

  Stage &stage;
  const Schedule &schedule;
  FusedProduct fused;
  Product &product;
  KernelWriter kernel;
  PointWriter points;
  OpBuilder &b;
  Location loc;
  Value shared, thread, group, mapA, mapB;
  AffineExpr rowTiles, columnTiles, tiles, steps;
};

bool WarpgroupWriter::columnsLieTogether() const {
  linalg::GenericOp op = product.op;
  AffineMap map = op.getMatchingIndexingMap(product.b);
  return map.getResults().back().isFunctionOfDim(product.n.back());
}

WarpgroupWriter::Ring WarpgroupWriter::ringAt(Value step) {
  Value stages = word(schedule.stages), place = rem(step, stages);
  Value barrier = byteAt(shared, mul(place, 8));
  return {byteAt(barrier, barriersAt()), byteAt(barrier, barriersAt() + 8 * schedule.stages),
          b.create<arith::AndIOp>(loc, div(step, stages), word(1)), mul(place, stageBytes())};
}

/// Tiles in groups of a few rows: what a group reads stays in the second-level cache.
WarpgroupWriter::Tile WarpgroupWriter::tileAt(Value number) {
  Value rows = size(rowTiles), columns = size(columnTiles);
  Value inBatch = rem(number, size(rowTiles * columnTiles));
  Value together = mul(columns, kTileRowsTogether);
  Value firstRow = mul(div(inBatch, together), kTileRowsTogether);
  Value inGroup = rem(inBatch, together);
  Value height = b.create<arith::MinUIOp>(loc, b.create<arith::SubIOp>(loc, rows, firstRow),
                                          word(kTileRowsTogether));
  Value row = add(firstRow, rem(inGroup, height)), column = div(inGroup, height);
  return {div(number, size(rowTiles * columnTiles)), mul(row, schedule.tileM),
          mul(column, schedule.tileN)};
}

void WarpgroupWriter::initializeBarriers() {
  PointWriter::Scope scope(points);
  onlyWhere(kernel, equal(thread, word(0)));
  for (int64_t i = 0; i < schedule.stages; ++i) {
    b.create<NVVM::MBarrierInitSharedOp>(loc, byteAt(shared, barriersAt() + 8 * i), word(1),
                                         Value());
    // Each reading warp frees a stage once.
    int64_t warps = groups(schedule) * (kGroup / kWarp);
    b.create<NVVM::MBarrierInitSharedOp>(
        loc, byteAt(shared, barriersAt() + 8 * (schedule.stages + i)), word(warps), Value());
  }
  for (StringRef fence : {"fence.mbarrier_init.release.cluster;", "fence.proxy.async;"})
    b.create<LLVM::InlineAsmOp>(loc, TypeRange{}, ValueRange{}, fence, "",
                                /*has_side_effects=*/true, /*is_align_stack=*/false,
                                LLVM::AsmDialectAttr(), ArrayAttr());
}

void WarpgroupWriter::forTiles(llvm::function_ref<Value(const Tile &, Value)> body) {
  auto sreg = [&](auto tag) -> Value { return b.create<decltype(tag)>(loc, b.getI32Type()); };
  Value first = sreg(NVVM::BlockIdXOp()), blocks = sreg(NVVM::GridDimXOp());
  auto loop = b.create<scf::ForOp>(loc, first, size(tiles), blocks, ValueRange{word(0)});
  PointWriter::Scope scope(points);
  b.setInsertionPointToStart(loop.getBody());
  Value next = body(tileAt(loop.getInductionVar()), loop.getRegionIterArg(0));
  b.create<scf::YieldOp>(loc, next);
}

/// One thread keeps the ring filled.
void WarpgroupWriter::produce() {
  onlyWhere(kernel, equal(thread, word(0)));
  forTiles([&](const Tile &tile, Value firstStep) -> Value {
    auto loop = b.create<scf::ForOp>(loc, word(0), size(steps), word(1), ValueRange{firstStep});
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getRegionIterArg(0);
    Ring ring = ringAt(step);
    Value otherPhase = b.create<arith::XOrIOp>(loc, ring.phase, word(1));
    b.create<NVVM::MBarrierTryWaitParitySharedOp>(loc, ring.empty, otherPhase, word(kTicks));
    b.create<NVVM::MBarrierArriveExpectTxSharedOp>(loc, ring.full, word(stageBytes()), Value());
    Value depth = mul(loop.getInductionVar(), schedule.tileK);
    auto copy = [&](Value to, Value map, Value fast, Value slow, OpOperand *operand) {
      SmallVector<Value> place{fast, slow};
      if (cast<RankedTensorType>(operand->get().getType()).getRank() > 2)
        place.push_back(tile.batch);
      b.create<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
          loc, to, map, place, ring.full, ValueRange{}, Value(), Value(), Value());
    };
    Value a = byteAt(shared, ring.offset), c = byteAt(a, bytesOfA());
    copy(a, mapA, depth, tile.row, product.a);
    if (!columnsLieTogether()) {
      copy(c, mapB, depth, tile.column, product.b);
    } else {
      int64_t width = kRowBytes / kElementBytes; // columns that one copy brings
      for (int64_t i = 0; i < schedule.tileN / width; ++i)
        copy(byteAt(c, i * schedule.tileK * kRowBytes), mapB, add(tile.column, word(i * width)),
             depth, product.b);
    }
    b.create<scf::YieldOp>(loc, add(step, word(1)));
    b.setInsertionPointAfter(loop);
    return loop.getResult(0);
  });
}

void WarpgroupWriter::consume() {
  int64_t count = schedule.tileN / 2; // sums of a thread
  auto sumsType =
      LLVM::LLVMStructType::getLiteral(kernel.context(), SmallVector<Type>(count, b.getF32Type()));
  Value zero = b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(0));
  Value zeros = b.create<LLVM::UndefOp>(loc, sumsType);
  for (int64_t i = 0; i < count; ++i)
    zeros = b.create<LLVM::InsertValueOp>(loc, zeros, zero, i);
  Value consumer = b.create<arith::SubIOp>(loc, group, word(1));
  Value isFirstLane = equal(rem(thread, word(kWarp)), word(0));
  Value sharedAt = b.create<LLVM::PtrToIntOp>(loc, b.getI32Type(), shared);
  // Descriptors: rows of 128 bytes, swizzled, eight rows are 1024 bytes; B in blocks of columns.
  bool isWide = columnsLieTogether();
  int64_t common = (int64_t{1} << 62) | ((int64_t{1024} / 16) << 32);
  int64_t formA = common | (1 << 16);
  int64_t formB = common | ((isWide ? schedule.tileK * kRowBytes / 16 : 1) << 16);
  int64_t nextA = kDepth * kElementBytes / 16;
  int64_t nextB = isWide ? kDepth * kRowBytes / 16 : nextA;
  Type element = cast<RankedTensorType>(product.a->get().getType()).getElementType();
  MLIRContext *context = kernel.context();
  auto type = NVVM::WGMMATypesAttr::get(context, element.isBF16() ? NVVM::WGMMATypes::bf16
                                                                  : NVVM::WGMMATypes::f16);
  auto one = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
  auto layout = [&](bool isRow) {
    return NVVM::MMALayoutAttr::get(context, isRow ? NVVM::MMALayout::row : NVVM::MMALayout::col);
  };

  forTiles([&](const Tile &tile, Value firstStep) -> Value {
    auto loop =
        b.create<scf::ForOp>(loc, word(0), size(steps), word(1), ValueRange{firstStep, zeros});
    {
      PointWriter::Scope scope(points);
      b.setInsertionPointToStart(loop.getBody());
      Value step = loop.getRegionIterArg(0), sums = loop.getRegionIterArg(1);
      Ring ring = ringAt(step);
      b.create<NVVM::MBarrierTryWaitParitySharedOp>(loc, ring.full, ring.phase, word(kTicks));
      Value tilesAt = add(sharedAt, ring.offset);
      auto descriptor = [&](Value address, int64_t form) -> Value {
        Value units = b.create<arith::ShRUIOp>(
            loc, b.create<arith::AndIOp>(loc, address, word(0x3ffff)), word(4));
        return b.create<arith::OrIOp>(loc, b.create<arith::ExtUIOp>(loc, b.getI64Type(), units),
                                      wide(form));
      };
      Value a = descriptor(add(tilesAt, mul(consumer, kGroupRows * kRowBytes)), formA);
      Value c = descriptor(add(tilesAt, word(bytesOfA())), formB);
      b.create<NVVM::WgmmaFenceAlignedOp>(loc);
      for (int64_t i = 0; i < schedule.tileK / kDepth; ++i)
        sums = b.create<NVVM::WgmmaMmaAsyncOp>(
            loc, sumsType, sums, add(a, wide(i * nextA)), add(c, wide(i * nextB)),
            NVVM::MMAShapeAttr::get(context, kGroupRows, schedule.tileN, kDepth), type, type,
            NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::f32),
            NVVM::WGMMAScaleOutAttr::get(context, NVVM::WGMMAScaleOut::one), one, one, layout(true),
            layout(isWide), NVVM::MMAIntOverflowAttr());
      b.create<NVVM::WgmmaGroupSyncAlignedOp>(loc);
      b.create<NVVM::WgmmaWaitGroupSyncOp>(loc, 0);
      {
        OpBuilder::InsertionGuard guard(b);
        onlyWhere(kernel, isFirstLane);
        b.create<NVVM::MBarrierArriveSharedOp>(loc, b.getI64Type(), ring.empty);
      }
      b.create<scf::YieldOp>(loc, ValueRange{add(step, word(1)), sums});
    }
    storeTile(tile, loop.getResult(1));
    return loop.getResult(0);
  });
}

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
  int64_t across = std::min(kGroup, chunkColumns() / width); // threads beside each other in a row
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
    auto loop = b.create<scf::ForOp>(loc, myRow, word(kGroupRows), word(rowsAtOnce));
    {
      PointWriter::Scope scope(points);
      b.setInsertionPointToStart(loop.getBody());
      Value row = loop.getInductionVar();
      Value toRow = add(tile.row, add(mul(consumer, kGroupRows), row));
      Value toColumn = add(tile.column, add(myColumn, word(chunk * chunkColumns())));
      storeChunk(tile, toRow, toColumn, width, slot(row, myColumn));
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
  if (!product.batch.empty())
    loops[product.batch.front()] = points.addCoordinate(index(tile.batch));
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

LogicalResult WarpgroupWriter::write() {
  AffineExpr rows = product.size(product.m), columns = product.size(product.n);
  rowTiles = rows.ceilDiv(schedule.tileM);
  columnTiles = columns.ceilDiv(schedule.tileN);
  tiles = product.size(product.batch) * rowTiles * columnTiles;
  steps = product.size(product.k).ceilDiv(schedule.tileK);
  kernel.setResidentBlocks(1);
  shared = kernel.dynamicShared(sharedBytes(schedule), /*alignment=*/1024);
  thread = b.create<arith::IndexCastUIOp>(loc, b.getI32Type(), kernel.thread());
  group = div(thread, word(kGroup));
  auto map = [&](const TensorMemory &memory, int64_t slowBox) {
    SmallVector<int64_t> box{slowBox, kRowBytes / kElementBytes};
    if (memory.shape.size() > 2)
      box.insert(box.begin(), 1);
    return kernel.tensorMap(memory.place, memory.shape, memory.element, box, kRowBytes);
  };
  auto readable = [&](OpOperand *operand, StringRef suffix) {
    const TensorMemory &memory = stage.memories.find(operand->get())->second;
    return withRowsOfMultiple(stage, memory, schedule.padded, stage.name + suffix.str());
  };
  mapA = map(readable(product.a, "_a"), schedule.tileM);
  mapB = map(readable(product.b, "_b"), columnsLieTogether() ? schedule.tileK : schedule.tileN);

  initializeBarriers();
  b.create<gpu::BarrierOp>(loc);
  auto roles = b.create<scf::IfOp>(loc, equal(group, word(0)), /*withElseRegion=*/true);
  {
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(roles.thenBlock());
    produce();
  }
  {
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(roles.elseBlock());
    consume();
  }
  std::optional<int64_t> known = constantValue(tiles);
  int64_t blocks = std::min(known.value_or(schedule.blocks), schedule.blocks);
  stage.launches.push_back(kernel.finish({constantDim(blocks, kernel.context())}));
  return failure(points.failed());
}

} // namespace

LogicalResult writeWarpgroups(Stage &stage) {
  std::optional<FusedProduct> fused = fusedProductOf(stage.op);
  if (!fused)
    return stage.op->emitError("is no matrix product");
  return WarpgroupWriter(stage, *fused).write();
}

} // namespace headrace::cuda
