// The template of schedule "warpgroups", in the three files that write its parts: tiles and what is
// multiplied (WriteWarpgroups.cpp), copies through the ring (WarpgroupCopies.cpp), and results on
// their way out (WarpgroupStores.cpp).
#pragma once

#include "target/cuda/schedule/Product.h"
#include "target/cuda/schedule/TemplateShapes.h"
#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace headrace::cuda {

class WarpgroupWriter : WarpgroupShape {
public:
  WarpgroupWriter(Stage &stage, FusedProduct fused)
      : stage(stage), schedule(stage.schedule), fused(fused), product(this->fused.product),
        kernel(stage.module, stage.op->getLoc(), stage.name, schedule.threads),
        points(kernel, stage.memories), b(kernel.builder()), loc(kernel.loc()) {}

  mlir::LogicalResult write();

private:
  mlir::Value word(int64_t value) { return b.create<mlir::arith::ConstantIntOp>(loc, value, 32); }
  mlir::Value wide(int64_t value) { return b.create<mlir::arith::ConstantIntOp>(loc, value, 64); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.create<mlir::arith::AddIOp>(loc, x, y); }
  mlir::Value mul(mlir::Value x, int64_t y) {
    return b.create<mlir::arith::MulIOp>(loc, x, word(y));
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::DivUIOp>(loc, x, y);
  }
  mlir::Value rem(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::RemUIOp>(loc, x, y);
  }
  mlir::Value size(mlir::AffineExpr expr) {
    return b.create<mlir::arith::IndexCastUIOp>(loc, b.getI32Type(), points.value(expr));
  }
  mlir::Value index(mlir::Value number) {
    return b.create<mlir::arith::IndexCastUIOp>(loc, b.getIndexType(), number);
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::eq, x, y);
  }
  mlir::Value byteAt(mlir::Value base, mlir::Value offset) {
    return b.create<mlir::LLVM::GEPOp>(loc, base.getType(), b.getI8Type(), base,
                                       llvm::ArrayRef<mlir::LLVM::GEPArg>{offset});
  }
  mlir::Value byteAt(mlir::Value base, int64_t offset) {
    return b.create<mlir::LLVM::GEPOp>(
        loc, base.getType(), b.getI8Type(), base,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(offset)});
  }

  /// One of the two operands: how its tiles are copied and read.
  struct Side {
    mlir::OpOperand *operand;
    unsigned outer;                   // loop: m of A, n of B
    int64_t tile;                     // outer elements of a tile
    llvm::SmallVector<unsigned> dims; // loops of its dimensions, as they are in memory
    bool outerLiesTogether; // rather than the depth: tiles are blocks of 128 bytes of `outer`
    mlir::Value map;        // for the copy engine
  };
  Side sideOf(mlir::OpOperand *operand, unsigned outer, int64_t tile, llvm::StringRef suffix);
  int64_t bytesOfA() const { return schedule.tileM * schedule.tileK * kElementBytes; }
  int64_t bytesOfB() const { return schedule.tileN * schedule.tileK * kElementBytes; }
  int64_t stageBytes() const { return bytesOfA() + bytesOfB(); }
  int64_t barriersAt() const { return WarpgroupShape::barriersAt(schedule); }
  mlir::Type elementOfResult() {
    return llvm::cast<mlir::RankedTensorType>(product.op.getResult(0).getType()).getElementType();
  }
  // Results are stored through shared memory a few columns at a time.
  int64_t chunkColumns() { return kRowBytes * 8 / elementOfResult().getIntOrFloatBitWidth(); }
  int64_t stagedStride() {
    return kStagedBytes * 8 / kGroupRows / elementOfResult().getIntOrFloatBitWidth();
  }

  struct Ring {
    mlir::Value full, empty; // barriers of the stage
    mlir::Value phase;       // how often the ring went round, modulo 2
    mlir::Value offset;      // of the stage's tiles
  };
  Ring ringAt(mlir::Value step);
  /// Waits until the barrier is through with the phase.
  void pass(mlir::Value barrier, mlir::Value phase);
  struct Tile {
    llvm::SmallVector<mlir::Value> batch; // a position of each of its loops
    mlir::Value row, column;
  };
  Tile tileAt(mlir::Value number);
  void initializeBarriers();
  /// Calls `body` for each tile of the block with the number of steps so far; it returns the next.
  void forTiles(llvm::function_ref<mlir::Value(const Tile &, mlir::Value step)> body);
  void produce();
  void copyTile(const Side &side, mlir::Value to, const Tile &tile, mlir::Value outer,
                mlir::Value depth, mlir::Value barrier);
  void consume();
  void storeTile(const Tile &tile, mlir::Value sums);
  void storeChunk(const Tile &tile, mlir::Value row, mlir::Value column, int64_t width,
                  mlir::Value from);

  Stage &stage;
  const Schedule &schedule;
  FusedProduct fused;
  Product &product;
  KernelWriter kernel;
  PointWriter points;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Value shared, thread, group;
  Side sides[2];
  mlir::AffineExpr rowTiles, columnTiles, tiles, steps;
};

} // namespace headrace::cuda
