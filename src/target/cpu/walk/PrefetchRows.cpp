// Level 3: fetches the next row while one is computed.
//
// Before:
//   scf.for %row { scf.for %c { read %x[%row, %c] : max } ; scf.for %c { read %x[%row, %c] : exp }
//   }
// After:
//   scf.for %row { scf.for %c { read %x[%row, %c] : max }
//                  scf.for %c { prefetch %x[%next, %c] ; prefetch %y[%row, %c] ;
//                               read %x[%row, %c] : exp } ; scf.for %c { write %y[%row, %c] } }
//
// The first pass over a row waits for memory, and so does the last, which writes; those between
// find all in cache and leave memory idle. The second pass fetches what both will need.
#include "target/cpu/Passes.h"
#include "target/cpu/walk/WalkPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUPREFETCHROWSPASS
#include "target/cpu/Passes.h.inc"

namespace {

constexpr int64_t kLine = 64;
constexpr int kKeepNear = 3; // as locality of prefetches goes

/// A vector read from an input, at a row that the outer loop says and a column that the inner does.
bool walksRow(vector::TransferReadOp read, scf::ForOp rows, scf::ForOp columns) {
  auto argument = dyn_cast<BlockArgument>(read.getSource());
  ValueRange indices = read.getIndices();
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) || indices.size() < 2 ||
      indices.back() != columns.getInductionVar() ||
      !llvm::is_contained(indices.drop_back(), rows.getInductionVar()))
    return false;
  return llvm::all_of(indices.drop_back(), [&](Value index) {
    return index == rows.getInductionVar() || rows.isDefinedOutsideOfLoop(index);
  });
}

struct CpuPrefetchRowsPass : impl::CpuPrefetchRowsPassBase<CpuPrefetchRowsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    if (std::optional<CpuSchedule> schedule = walkScheduleOf(getOperation());
        schedule && !schedule->prefetch)
      return;
    SmallVector<scf::ForOp> nests;
    getOperation().walk([&](scf::ForOp loop) {
      if (isa<func::FuncOp>(loop->getParentOp()))
        nests.push_back(loop);
    });
    for (scf::ForOp rows : nests)
      prefetch(rows);
  }

private:
  void prefetch(scf::ForOp rows) {
    // The second pass over each input: the third finds the next row in cache as well.
    llvm::DenseMap<Value, int> passes;
    vector::TransferReadOp second;
    for (scf::ForOp columns : llvm::to_vector(rows.getOps<scf::ForOp>())) {
      llvm::SmallDenseSet<Value> seen;
      for (auto read : llvm::to_vector(columns.getOps<vector::TransferReadOp>()))
        if (walksRow(read, rows, columns) && seen.insert(read.getSource()).second &&
            ++passes[read.getSource()] == 2) {
          prefetchNext(read, rows);
          second = read;
        }
      for (auto write : llvm::to_vector(columns.getOps<vector::TransferWriteOp>()))
        if (second && second->getParentOp() != columns && isRowOf(write, rows, columns))
          prefetchWritten(write, second);
    }
  }

  /// A row of an output, written from its beginning to its end.
  static bool isRowOf(vector::TransferWriteOp write, scf::ForOp rows, scf::ForOp columns) {
    auto view = write.getSource().getDefiningOp<memref::SubViewOp>();
    return view && view->getParentOp() == rows && isa<BlockArgument>(view.getSource()) &&
           llvm::all_of(view.getOffsets(),
                        [&](Value offset) { return offset == rows.getInductionVar(); }) &&
           view.getSizes().empty() && view.getStrides().empty() &&
           write.getIndices().back() == columns.getInductionVar() &&
           llvm::all_of(write.getIndices().drop_back(),
                        [&](Value index) { return rows.isDefinedOutsideOfLoop(index); });
  }

  /// Both passes walk the row in the same steps.
  void prefetchWritten(vector::TransferWriteOp write, vector::TransferReadOp during) {
    auto columns = cast<scf::ForOp>(during->getParentOp());
    auto writing = cast<scf::ForOp>(write->getParentOp());
    if (columns.getStep() != writing.getStep() ||
        columns.getUpperBound() != writing.getUpperBound() ||
        columns.getLowerBound() != writing.getLowerBound())
      return;
    write.getSource().getDefiningOp()->moveBefore(columns);
    OpBuilder b(during);
    SmallVector<Value> indices(write.getIndices());
    indices.back() = columns.getInductionVar();
    prefetchVector(b, write.getSource(), indices, write.getVectorType(), /*isWrite=*/true);
  }

  void prefetchVector(OpBuilder &b, Value memory, SmallVector<Value> indices, VectorType type,
                      bool isWrite) {
    Location loc = memory.getLoc();
    int64_t elementBytes = type.getElementTypeBitWidth() / 8;
    Value column = indices.back();
    for (int64_t at = 0; at < type.getNumElements() * elementBytes; at += kLine) {
      Value offset = b.create<arith::ConstantIndexOp>(loc, at / elementBytes);
      indices.back() = b.create<arith::AddIOp>(loc, column, offset);
      b.create<memref::PrefetchOp>(loc, memory, indices, isWrite, kKeepNear, /*isDataCache=*/true);
    }
  }

  void prefetchNext(vector::TransferReadOp read, scf::ForOp rows) {
    OpBuilder outer(rows.getContext());
    outer.setInsertionPointToStart(rows.getBody());
    Location loc = read.getLoc();
    Value one = outer.create<arith::ConstantIndexOp>(loc, 1);
    Value last = outer.create<arith::SubIOp>(loc, rows.getUpperBound(), one);
    Value after = outer.create<arith::AddIOp>(loc, rows.getInductionVar(), rows.getStep());
    Value next = outer.create<arith::MinSIOp>(loc, after, last);
    OpBuilder b(read);
    SmallVector<Value> indices(read.getIndices());
    std::replace(indices.begin(), indices.end(), Value(rows.getInductionVar()), next);
    prefetchVector(b, read.getSource(), indices, read.getVectorType(), /*isWrite=*/false);
  }
};

} // namespace
} // namespace headrace
