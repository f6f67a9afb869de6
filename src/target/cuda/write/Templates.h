// Device functions for launched operations, one way to write each kind of schedule.
#pragma once

#include "target/cuda/schedule/Schedule.h"
#include "target/cuda/write/PointWriter.h"

namespace headrace::cuda {

/// An operation to be launched, and where its result goes.
struct Stage {
  mlir::Operation *op;
  Schedule schedule;
  TensorMemory result;
  /// Further operations of the same points, computed in the same launch (schedule "points").
  std::vector<std::pair<mlir::Operation *, TensorMemory>> others;
  const PointWriter::Memories &memories; // what was given or computed before
  mlir::gpu::GPUModuleOp module;
  std::string name;                                 // of its function
  llvm::SmallVectorImpl<mlir::Attribute> &launches; // its launches are added here
  /// Takes memory of that many bytes from the workspace.
  std::function<TensorPlace(mlir::AffineExpr bytes)> allocate;
};

mlir::LogicalResult writePoints(Stage &stage);
mlir::LogicalResult writeRows(Stage &stage);
mlir::LogicalResult writeColumns(Stage &stage);
mlir::LogicalResult writeTiles(Stage &stage);
mlir::LogicalResult writeProduct(Stage &stage);
mlir::LogicalResult writeTensorCores(Stage &stage);
mlir::LogicalResult writeWarpgroups(Stage &stage);

/// The tensor if its rows have a multiple of that many elements: itself, or a copy in the
/// workspace with zeros at the ends of its rows, by a launch of its own.
TensorMemory withRowsOfMultiple(Stage &stage, const TensorMemory &memory, int64_t multiple,
                                const std::string &name);

/// Positions of a row-major index over these sizes, outermost first.
Point delinearized(mlir::AffineExpr index, llvm::ArrayRef<mlir::AffineExpr> sizes);
/// One coordinate for each expression.
Point asCoordinates(PointWriter &points, llvm::ArrayRef<mlir::AffineExpr> exprs);
/// Writes what follows only for threads if the condition holds.
void onlyWhere(KernelWriter &kernel, mlir::Value condition);

/// `value` of the thread whose number differs in the bits of `mask`, in the same warp.
mlir::Value shuffleXor(KernelWriter &kernel, mlir::Value value, int64_t mask);
/// The values of `lanes` neighbouring threads combined; every thread gets the result. More than a
/// warp goes through shared memory, and all threads of the block must take part.
mlir::Value combineThreads(KernelWriter &kernel, mlir::Operation *combiner, mlir::Value value,
                           int64_t lanes);

} // namespace headrace::cuda
