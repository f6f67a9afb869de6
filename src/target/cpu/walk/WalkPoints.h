// The inside of a walking kernel's loops: all operators of a stage at one place of a few rows.
#pragma once

#include "target/cpu/walk/WalkPlan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <map>

namespace headrace {

/// A row of the tile that is being computed: its number in all of the rows and in the tile. If
/// vectors lie along the rows, the first of a vector of them.
struct WalkRow {
  mlir::Value absolute, inTile;
};

/// Carried accumulators: of each operator in turn, one per row.
struct WalkAccumulators {
  llvm::SmallVector<mlir::Value> values;
  size_t rows = 1;
};

class WalkPoints {
protected:
  /// Where along each axis.
  using Axes = std::map<int, mlir::Value>;
  static constexpr int64_t kNone = -1;

  WalkPoints(WalkPlan plan, mlir::Location loc, int64_t vectorBytes)
      : plan(std::move(plan)), loc(loc), b(this->plan.loop), vectorBytes(vectorBytes) {}

  /// Whether the operator's accumulator is carried in registers over the stage's loops.
  bool isCarried(WalkStage &stage, WalkOp &op);
  /// Initial values of carried accumulators, one per operator and row.
  llvm::SmallVector<mlir::Value> startOf(WalkStage &stage, int64_t rows, int64_t width);
  /// All operators of the stage at one place of every row; returns the accumulators.
  llvm::SmallVector<mlir::Value> emitPoint(WalkStage &stage, llvm::ArrayRef<WalkRow> rows,
                                           const Axes &at, int64_t width, mlir::ValueRange state);
  /// The scalar function of an operator on vectors; values that are uniform over a vector stay
  /// scalar.
  mlir::Value emitBody(WalkStage &stage, WalkOp &op, llvm::ArrayRef<WalkRow> rows, size_t row,
                       const Axes &at, int64_t width, mlir::Value accumulator);
  /// A value of a body: one of its own, or one from around it.
  mlir::Value outside(const mlir::IRMapping &mapping, mlir::Value value) {
    return mapping.contains(value) ? mapping.lookup(value) : scalars.lookupOrDefault(value);
  }
  /// Brings carried accumulators to the results: vectors into one number if they lie along what
  /// is combined, all rows into one if those are.
  void finish(WalkStage &stage, llvm::ArrayRef<WalkRow> rows, const Axes &at,
              llvm::ArrayRef<WalkAccumulators> parts);
  mlir::Value reduceVector(WalkOp &op, mlir::Value vector);
  mlir::Value combine(WalkOp &op, mlir::Value x, mlir::Value y);
  static bool indexes(WalkOp &op, mlir::AffineMap map, int axis);
  llvm::SmallVector<mlir::Value> indicesOf(WalkOp &op, const WalkPlace &place, mlir::AffineMap map,
                                           const WalkRow &row, const Axes &at);
  mlir::Value read(WalkStage &stage, WalkOp &op, mlir::Value value, mlir::AffineMap map,
                   const WalkRow &row, const Axes &at, int64_t width);
  void write(WalkStage &stage, WalkOp &op, const WalkRow &row, const Axes &at, int64_t width,
             mlir::Value value);
  mlir::Value constant(int64_t value) { return b.create<mlir::arith::ConstantIndexOp>(loc, value); }
  mlir::Value offset(mlir::Value value, int64_t by) {
    return by ? b.create<mlir::arith::AddIOp>(loc, value, constant(by)).getResult() : value;
  }
  mlir::Value splat(mlir::Value scalar, int64_t width);
  static int64_t widthOf(mlir::Value value);
  mlir::Value initOf(WalkOp &op) { return scalars.lookupOrDefault(op.init()); }
  mlir::Value sizeOf(int axis);
  int64_t lanesOf(WalkStage &stage);

  WalkPlan plan;
  mlir::Location loc;
  mlir::OpBuilder b;
  int64_t vectorBytes;
  mlir::Value block;
  /// How many rows ahead is fetched what is read; 0: nothing. Rows are short and read several at a
  /// time, in which the CPU sees no pattern.
  int64_t aheadRows = 0;
  mlir::IRMapping scalars; // indices and constants of the loop's body

private:
  llvm::DenseMap<std::pair<mlir::Value, size_t>, mlir::Value> computed, loaded;
};

} // namespace headrace
