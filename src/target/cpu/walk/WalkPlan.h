// The plan of a kernel that walks blocks of rows: its operators, where their values lie, and which
// of them share a loop over a few rows.
#pragma once

#include "target/cpu/loops/CpuSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace headrace {

/// Where a value of the loop's body lies.
struct WalkPlace {
  enum class Kind {
    Whole, // in memory, without rows
    Rows,  // in memory, rows first
    Block, // in memory, one partial result per block
    Tile,  // a temporary of a few rows
  };
  Kind kind = Kind::Whole;
  mlir::Value memory; // null for temporaries until they are made
};

struct WalkOp {
  mlir::linalg::GenericOp op;
  mlir::OpResult result;                // the one that is read
  llvm::SmallVector<int> axes;          // of each of its loops
  llvm::SmallVector<mlir::Value> inits; // what results start from; null: nothing
  mlir::Operation *combiner = nullptr;  // what a reduction combines two values by
  bool accumulates = false;             // reduces over the rows
  int stage = 0;

  mlir::AffineMap resultMap() { return op.getIndexingMapMatchingResult(result); }
  mlir::Value init() const { return inits[result.getResultNumber()]; }
  bool reduces(int axis) {
    auto found = llvm::find(axes, axis);
    return found != axes.end() &&
           op.getIteratorTypesArray()[found - axes.begin()] == mlir::utils::IteratorType::reduction;
  }
};

/// Operators that are computed together, point by point.
struct WalkStage {
  llvm::SmallVector<size_t> ops;
  llvm::SmallVector<int> axes; // all but the rows'
  int vectorAxis = -1;         // along which vectors lie; -1: no vectors
};

struct WalkPlan {
  mlir::scf::ForallOp loop;
  mlir::Value firstRow, rowCount; // of a block, in the loop's body
  int rowAxis = -1;
  llvm::SmallVector<WalkOp> ops;
  llvm::SmallVector<WalkStage> stages;
  llvm::DenseMap<mlir::Value, WalkPlace> places;
  /// Per axis: a tensor's dimension that has its size.
  llvm::DenseMap<int, std::pair<mlir::Value, int64_t>> sizes;

  /// Whether vectors lie along the rows' own axis, which is the only one.
  bool onlyRows() const {
    return llvm::all_of(ops, [](const WalkOp &op) { return op.axes.size() == 1; });
  }
  /// Whether the result must be in memory: it is the kernel's, or another stage reads it.
  bool isKept(WalkOp &op) const;

  /// Whether no stage before the operator's reads the value or computes it.
  bool isFirstRead(mlir::Value value, const WalkOp &op) const;

  /// Fails, with the reason, if the kernel is not such a loop or has an unsupported operation.
  static mlir::FailureOr<WalkPlan> of(mlir::func::FuncOp kernel);
};

/// How the kernel's schedule says that rows are walked; nothing if it says nothing of that.
std::optional<CpuSchedule> walkScheduleOf(mlir::func::FuncOp kernel);

/// The loop over blocks of rows that is all of the kernel; null if there is none.
mlir::scf::ForallOp findWalk(mlir::func::FuncOp kernel);

} // namespace headrace
