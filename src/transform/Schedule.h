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
    Walk,        // blocks of rows, all operators on a few rows at a time
  };
  Family family = Family::Loops;
  /// Per dimension of the root: size of a grid cell (0: the whole dimension). Cells are independent
  /// and run on all threads.
  llvm::SmallVector<int64_t> grid;
  /// Tiles: per dimension of the root, the register tile inside a cell, and the loop order. Walk:
  /// how many rows are computed at a time.
  llvm::SmallVector<int64_t> tile;
  llvm::SmallVector<int64_t> order;
  /// Elementwise, Rows: how many elements of the last dimension are one vector. Walk: bytes of one.
  int64_t vector = 0;
  /// What whole tiles leave over in each dimension of the root (Tiles), or whole vectors in the
  /// last dimension (Elementwise, Rows): 0 nothing, kUnknownRemainder where only the run tells.
  llvm::SmallVector<int64_t> remainder;
  static constexpr int64_t kUnknownRemainder = -1;

  int64_t remainderOf(size_t dim) const { return dim < remainder.size() ? remainder[dim] : 0; }
  bool leavesRemainder() const {
    return llvm::any_of(remainder, [](int64_t size) { return size != 0; });
  }

  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;
  static std::optional<Schedule> fromAttribute(mlir::DictionaryAttr attribute);
};

llvm::StringRef familyName(Schedule::Family family);

/// The attribute of a kernel's module that holds its schedule.
inline constexpr llvm::StringLiteral kScheduleAttr = "hr.schedule";

} // namespace headrace
