// A schedule is data: the parameters of a kernel's loops. A recipe (transform dialect) is generated
// from it; both can be printed, saved, edited and replayed.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// What a kernel's function holds, as schedules need it.
struct KernelContents {
  mlir::Operation *root = nullptr;          // computes what is stored
  llvm::SmallVector<mlir::Operation *> ops; // all numbered operations, in program order
  llvm::SmallVector<mlir::linalg::GenericOp> reductions;

  static KernelContents of(mlir::func::FuncOp kernel);
  mlir::linalg::GenericOp rootGeneric() const {
    return llvm::dyn_cast_or_null<mlir::linalg::GenericOp>(root);
  }
};

int64_t kernelOpId(mlir::Operation *op);

struct Schedule {
  enum class Family {
    Loops,       // plain loops, at most a grid around them
    Elementwise, // one map, vectors along its last dimension
    Rows,        // maps and reductions over rows that stay in cache
    Tiles,       // contractions, convolutions, windows: a register tile carried over the reduction
  };
  Family family = Family::Loops;
  /// Per dimension of the root: size of a grid cell (0: the whole dimension). Cells are independent
  /// and run on all threads.
  llvm::SmallVector<int64_t> grid;
  /// Tiles: per dimension of the root, the register tile inside a cell, and the loop order.
  llvm::SmallVector<int64_t> tile;
  llvm::SmallVector<int64_t> order;
  /// Elementwise, Rows: how many elements of the last dimension are one vector.
  int64_t vector = 0;
  /// The dimension that whole tiles or vectors do not cover (-1: none), where what is left over
  /// begins and how much that is.
  int64_t splitDim = -1;
  int64_t split = 0;
  int64_t remainder = 0;
  /// What is left over is known only at run time.
  bool peel = false;

  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;
  static std::optional<Schedule> fromAttribute(mlir::DictionaryAttr attribute);
};

llvm::StringRef familyName(Schedule::Family family);

/// The attribute of a kernel's module that holds its schedule.
inline constexpr llvm::StringLiteral kScheduleAttr = "hr.schedule";

} // namespace headrace
