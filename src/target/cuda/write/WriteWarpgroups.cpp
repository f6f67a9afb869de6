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
// Copies fill with zeros what is beyond a matrix, so the depth needs no care; rows and columns
// beyond the edge are not stored. Both ends of the ring are barriers in shared memory: "full" waits
// for the bytes of a stage, "empty" for its readers.
#include "target/cuda/write/Warpgroups.h"

using namespace mlir;

namespace headrace::cuda {

namespace {
constexpr int64_t kTileRowsTogether = 8; // tiles whose rows are walked before the next columns
} // namespace

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
  Value batch = div(number, size(rowTiles * columnTiles));
  SmallVector<Value> places(product.batch.size());
  for (size_t i = places.size(); i-- > 0;) {
    AffineExpr count = loopSize(product.op, product.batch[i]);
    places[i] = i == 0 ? batch : rem(batch, size(count));
    if (i > 0)
      batch = div(batch, size(count));
  }
  return {places, mul(row, schedule.tileM), mul(column, schedule.tileN)};
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
  // Descriptors: rows of 128 bytes, swizzled, eight rows are 1024 bytes; if the depth does not
  // lie together, blocks of tileK rows.
  auto formOf = [&](const Side &side) {
    int64_t blocks = side.outerLiesTogether ? schedule.tileK * kRowBytes / 16 : 1;
    return (int64_t{1} << 62) | ((int64_t{1024} / 16) << 32) | (blocks << 16);
  };
  auto nextOf = [](const Side &side) {
    return kDepth * (side.outerLiesTogether ? kRowBytes : kElementBytes) / 16;
  };
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
      pass(ring.full, ring.phase);
      Value tilesAt = add(sharedAt, ring.offset);
      auto descriptor = [&](Value address, int64_t form) -> Value {
        Value units = b.create<arith::ShRUIOp>(
            loc, b.create<arith::AndIOp>(loc, address, word(0x3ffff)), word(4));
        return b.create<arith::OrIOp>(loc, b.create<arith::ExtUIOp>(loc, b.getI64Type(), units),
                                      wide(form));
      };
      Value a = descriptor(add(tilesAt, mul(consumer, kGroupRows * kRowBytes)), formOf(sides[0]));
      Value c = descriptor(add(tilesAt, word(bytesOfA())), formOf(sides[1]));
      b.create<NVVM::WgmmaFenceAlignedOp>(loc);
      for (int64_t i = 0; i < schedule.tileK / kDepth; ++i)
        sums = b.create<NVVM::WgmmaMmaAsyncOp>(
            loc, sumsType, sums, add(a, wide(i * nextOf(sides[0]))),
            add(c, wide(i * nextOf(sides[1]))),
            NVVM::MMAShapeAttr::get(context, kGroupRows, schedule.tileN, kDepth), type, type,
            NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::f32),
            NVVM::WGMMAScaleOutAttr::get(context, NVVM::WGMMAScaleOut::one), one, one,
            layout(!sides[0].outerLiesTogether), layout(sides[1].outerLiesTogether),
            NVVM::MMAIntOverflowAttr());
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
  sides[0] = sideOf(product.a, product.m.front(), schedule.tileM, "_a");
  sides[1] = sideOf(product.b, product.n.front(), schedule.tileN, "_b");

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

LogicalResult writeWarpgroups(Stage &stage) {
  std::optional<FusedProduct> fused = fusedProductOf(stage.op);
  if (!fused)
    return stage.op->emitError("is not a matmul");
  return WarpgroupWriter(stage, *fused).write();
}

} // namespace headrace::cuda
