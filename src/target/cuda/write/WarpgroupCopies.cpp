// Tiles of operands on their way into shared memory.
//
// One thread copies them into a ring of stages. Both ends of the ring are barriers: "full" waits
// for the bytes of a stage, "empty" for its readers. Copies fill with zeros what is beyond a
// matrix.
#include "target/cuda/write/Warpgroups.h"

using namespace mlir;

namespace headrace::cuda {

WarpgroupWriter::Side WarpgroupWriter::sideOf(OpOperand *operand, unsigned outer, int64_t tile,
                                              StringRef suffix) {
  linalg::GenericOp op = product.op;
  Side side{operand, outer, tile, {}, false, Value()};
  SmallVector<int64_t> box; // what one copy brings
  for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    side.dims.push_back(dim);
    box.push_back(dim == outer ? tile : dim == product.k.front() ? schedule.tileK : 1);
  }
  side.outerLiesTogether = side.dims.back() == outer;
  box.back() = kRowBytes / kElementBytes;
  const TensorMemory &memory = stage.memories.find(operand->get())->second;
  TensorMemory readable =
      withRowsOfMultiple(stage, memory, schedule.padded, stage.name + suffix.str());
  side.map = kernel.tensorMap(readable.place, readable.shape, readable.element, box, kRowBytes);
  return side;
}

WarpgroupWriter::Ring WarpgroupWriter::ringAt(Value step) {
  Value stages = word(schedule.stages), place = rem(step, stages);
  Value barrier = byteAt(shared, mul(place, 8));
  return {byteAt(barrier, barriersAt()), byteAt(barrier, barriersAt() + 8 * schedule.stages),
          b.create<arith::AndIOp>(loc, div(step, stages), word(1)), mul(place, stageBytes())};
}

void WarpgroupWriter::pass(Value barrier, Value phase) {
  constexpr int64_t kTicks = 10000000; // how long one try lasts
  b.create<NVVM::MBarrierTryWaitParitySharedOp>(loc, barrier, phase, word(kTicks));
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
    pass(ring.empty, otherPhase);
    b.create<NVVM::MBarrierArriveExpectTxSharedOp>(loc, ring.full, word(stageBytes()), Value());
    Value depth = mul(loop.getInductionVar(), schedule.tileK);
    Value a = byteAt(shared, ring.offset), c = byteAt(a, bytesOfA());
    copyTile(sides[0], a, tile, tile.row, depth, ring.full);
    copyTile(sides[1], c, tile, tile.column, depth, ring.full);
    b.create<scf::YieldOp>(loc, add(step, word(1)));
    b.setInsertionPointAfter(loop);
    return loop.getResult(0);
  });
}

void WarpgroupWriter::copyTile(const Side &side, Value to, const Tile &tile, Value outer,
                               Value depth, Value barrier) {
  auto copy = [&](Value target, Value firstOuter) {
    SmallVector<Value> place;
    for (unsigned dim : llvm::reverse(side.dims)) {
      const auto *batch = llvm::find(product.batch, dim);
      place.push_back(dim == side.outer              ? firstOuter
                      : batch == product.batch.end() ? depth
                                                     : tile.batch[batch - product.batch.begin()]);
    }
    b.create<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
        loc, target, side.map, place, barrier, ValueRange{}, Value(), Value(), Value());
  };
  if (!side.outerLiesTogether)
    return copy(to, outer);
  constexpr int64_t kWidth = kRowBytes / kElementBytes; // outer elements that one copy brings
  for (int64_t i = 0; i < side.tile / kWidth; ++i)
    copy(byteAt(to, i * schedule.tileK * kRowBytes), add(outer, word(i * kWidth)));
}

} // namespace headrace::cuda
