// The elements of tensors at points, as a thread computes them.
//
// A kernel of level 2 says by indexing maps which elements each point reads. Points here are lists
// of affine expressions over *coordinates* (numbers that a thread has: its place in the grid, the
// variable of a loop) and the program's symbols, so that maps compose, and so that it is known
// which elements are adjacent. The element of a value that has no memory is computed where
// it is read; a value computed at a point once is not computed again.
#pragma once

#include "target/cuda/schedule/Reads.h"
#include "target/cuda/write/KernelWriter.h"
#include "transform/kernels/KernelShapes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>

namespace headrace::cuda {

/// The elements at neighbouring points: one, or as many as there are lanes.
using Pack = llvm::SmallVector<mlir::Value, 4>;

/// A tensor in memory, row-major.
struct TensorMemory {
  TensorPlace place;
  llvm::SmallVector<mlir::AffineExpr> shape; // over the program's symbols
  mlir::Type element;
  bool written = false;
};

/// The type that arithmetic works on: integers without a sign.
mlir::Type storedAs(mlir::Type element);
mlir::Type storedElementOf(mlir::Value tensor);

class PointWriter {
  /// Values that are known at the insertion point.
  struct State {
    std::map<std::vector<const void *>, Pack> points;      // tensor, lanes and point: elements
    llvm::DenseMap<mlir::AffineExpr, mlir::Value> values;  // of expressions
    llvm::DenseMap<mlir::Value, mlir::AffineExpr> offsets; // coordinates made of a kernel's numbers
    llvm::DenseMap<mlir::AffineExpr, mlir::AffineExpr> equal; // holds in this branch
    mlir::IRMapping scalars;                                  // of the loops around
  };

public:
  /// Where tensors lie that were computed before or are given.
  using Memories = llvm::DenseMap<mlir::Value, TensorMemory>;
  /// Another way to compute a value, for templates; nothing if it does not apply.
  using Computer =
      std::function<std::optional<Pack>(mlir::Value, llvm::ArrayRef<mlir::AffineExpr>)>;

  PointWriter(KernelWriter &kernel, const Memories &memories)
      : kernel(kernel), memories(memories), b(kernel.builder()) {}

  KernelWriter &writer() { return kernel; }
  /// A number that a thread has, an index.
  mlir::AffineExpr addCoordinate(mlir::Value index);
  /// From here on every value is computed at `count` points, `lane`, `lane` + 1, ...; `lane` is a
  /// multiple of `count`, or of the given number. With 1 there are no lanes.
  void setLanes(mlir::AffineExpr lane, unsigned count, unsigned multiple = 0);
  unsigned lanes() const { return laneCount; }
  void setComputer(Computer way) { computer = std::move(way); }

  /// The elements of a tensor.
  Pack at(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> point);
  /// The result of an operation whatever memory it has: for the launch that fills it.
  Pack compute(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> point);
  void store(const TensorMemory &memory, llvm::ArrayRef<mlir::AffineExpr> point,
             const Pack &values);
  Pack load(const TensorMemory &memory, llvm::ArrayRef<mlir::AffineExpr> point);

  /// One step of a reduction: its accumulators with the elements at these loops.
  Pack accumulate(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::AffineExpr> loops,
                  const Pack &accumulators);

  /// The value of an expression for the lane, an index.
  mlir::Value value(mlir::AffineExpr expr, unsigned lane = 0);
  /// `expr` is less than `bound`.
  mlir::Value less(mlir::AffineExpr expr, mlir::AffineExpr bound);

  /// Whether something could not be written; its operation has reported it.
  bool failed() const { return broken; }

  /// A region: values computed while one exists are forgotten when it goes.
  class Scope {
  public:
    explicit Scope(PointWriter &writer) : writer(writer), state(writer.state), guard(writer.b) {}
    ~Scope() { writer.state = std::move(state); }

  private:
    friend class PointWriter;
    PointWriter &writer;
    State state;
    mlir::OpBuilder::InsertionGuard guard;
  };

  /// `then` if the condition holds, `otherwise` if not; both give one value per lane.
  Pack choose(mlir::Value condition, llvm::ArrayRef<mlir::Type> types,
              llvm::function_ref<Pack()> then, llvm::function_ref<Pack()> otherwise);

private:
  struct Access {
    mlir::AffineExpr offset;     // in elements
    unsigned run;                // lanes that are adjacent
    std::optional<int64_t> step; // from a lane to the next
  };
  Access accessOf(const TensorMemory &memory, llvm::ArrayRef<mlir::AffineExpr> point);
  mlir::Value elementAddress(const TensorMemory &memory, mlir::AffineExpr offset, unsigned lane);
  mlir::Value laneAddress(const TensorMemory &memory, const Access &access, mlir::Value &first,
                          unsigned lane);
  mlir::AffineExpr shifted(mlir::AffineExpr expr, unsigned lane) const;
  bool usesLanes(llvm::ArrayRef<mlir::AffineExpr> point) const;
  Pack laneByLane(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> point);

  Pack generic(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::AffineExpr> point);
  Pack reduction(mlir::linalg::GenericOp op, Point loops, llvm::ArrayRef<mlir::AffineExpr> point);
  Pack window(mlir::linalg::GenericOp op, Point &loops, unsigned from, Pack sums);
  Pack body(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::AffineExpr> loops,
            llvm::ArrayRef<mlir::Value> accumulators);
  Pack pad(mlir::tensor::PadOp op, llvm::ArrayRef<mlir::AffineExpr> point);
  Pack slice(mlir::tensor::ExtractSliceOp op, llvm::ArrayRef<mlir::AffineExpr> point);
  Pack insertion(mlir::tensor::InsertSliceOp op, llvm::ArrayRef<mlir::AffineExpr> point);
  Pack loop(mlir::scf::ForOp op, llvm::ArrayRef<mlir::AffineExpr> point);
  mlir::Value captured(mlir::Value value, mlir::IRMapping &mapping);
  mlir::AffineExpr offsetExpr(mlir::OpFoldResult offset);
  std::vector<const void *> keyOf(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> point) const;
  Pack refuse(mlir::Operation *op, mlir::Type type, const llvm::Twine &why);
  Pack zeros(mlir::Type type);
  mlir::AffineExpr simplified(mlir::AffineExpr expr) const;
  void cloneBody(mlir::Operation &op, mlir::IRMapping &mapping,
                 llvm::ArrayRef<mlir::AffineExpr> loops, unsigned lane);
  /// A loop of a body: a sum or a tuple that is carried in scalars.
  void cloneLoop(mlir::scf::ForOp loop, mlir::IRMapping &mapping,
                 llvm::ArrayRef<mlir::AffineExpr> loops, unsigned lane);
  Pack single(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> point);

  KernelWriter &kernel;
  const Memories &memories;
  mlir::OpBuilder &b;
  Computer computer;
  llvm::SmallVector<mlir::Value> coordinates;
  mlir::AffineExpr laneExpr;
  unsigned laneCount = 1, laneMultiple = 1;
  State state;
  bool broken = false;
};

} // namespace headrace::cuda
