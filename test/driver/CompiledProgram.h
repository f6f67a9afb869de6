// Level-1 programs built for a test, compiled, run, and compared with the reference evaluation.
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "driver/Settings.h"
#include "runtime/program/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <gtest/gtest.h>

namespace headrace {

/// Values that inputs are filled with. Integers are small in every kind, so that they index and
/// divide.
enum class Fill {
  Uniform, // in [-2, 2)
  Special, // NaN, infinities, zeros of both signs, the smallest and largest numbers
};

class CompiledProgram {
public:
  using Sizes = std::vector<int64_t>;

  CompiledProgram();
  /// A program written as text, with its entry `@main`.
  explicit CompiledProgram(const std::string &text);

  //===------------------------------------------------------------------------===//
  // Building
  //===------------------------------------------------------------------------===//

  mlir::MLIRContext *context() const;
  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() { return b.getUnknownLoc(); }
  mlir::Type f32() { return b.getF32Type(); }

  /// The next dynamic dimension.
  mlir::AffineExpr symbol(const std::string &name);
  mlir::Value input(llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
  mlir::Value symbolicInput(const SymbolicShape &shape, mlir::Type element = {});
  mlir::Value scalar(mlir::Type element = {}) { return input(llvm::ArrayRef<int64_t>(), element); }
  /// Numbers in [-2, 2), the same at every run.
  mlir::Value constant(llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
  void output(mlir::Value value) { results.push_back(value); }

  template <class Op, class... Args> mlir::Value add(Args &&...args) {
    return b.create<Op>(loc(), std::forward<Args>(args)...).getResult();
  }
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;
  mlir::Value map(mlir::ValueRange inputs, Body body) { return createMap(b, loc(), inputs, body); }
  /// The sum of all inputs, broadcast to one shape.
  mlir::Value sum(mlir::ValueRange inputs);
  mlir::Value relu(mlir::Value input);
  mlir::Value exp(mlir::Value input);
  mlir::Value reduce(hr::ReduceKind kind, mlir::Value input, llvm::ArrayRef<int64_t> axes,
                     bool keepDims = false);
  /// `lhs,rhs->result` by one letter per dimension: "mk,kn->mn".
  mlir::Value contract(const std::string &letters, mlir::Value lhs, mlir::Value rhs,
                       mlir::Type accumulator = {});
  mlir::Value transpose(mlir::Value input, llvm::ArrayRef<int64_t> permutation);
  mlir::Value reshape(mlir::Value input, llvm::ArrayRef<int64_t> shape);

  //===------------------------------------------------------------------------===//
  // Checking
  //===------------------------------------------------------------------------===//

  /// Compiles the program (for sizes 0 and 1 on its own, as Model does) and compares its results
  /// with the reference, bitwise equal for 1, 2, 3 and 8 threads. Every recipe must have fitted,
  /// unless the test is about what becomes of one that did not.
  void check(const Sizes &sizes = {}, Fill fill = Fill::Uniform, unsigned seed = 1);

  /// The results for these inputs, on one thread.
  std::vector<Tensor> run(const std::vector<Tensor> &inputs, const Sizes &sizes = {});

  /// The program with a schedule on every kernel, for sizes of 2 or more.
  mlir::OwningOpRef<mlir::ModuleOp> scheduled();

  /// The machine it is compiled for.
  std::string target = "cpu";
  /// How contractions are computed; generated code unless a test says otherwise.
  std::string expansion = "generated";

  /// How its loops run; empty: as the compiler chooses.
  std::string recipe;
  /// Whether a kernel may end as plain loops, because its recipe does not fit.
  bool plainLoopsAllowed = false;
  /// The name of a stage and its axes, by which a recipe speaks of it.
  mlir::Value name(mlir::Value value, const std::string &stage,
                   const std::vector<std::string> &axes = {});

  /// How many kernels the program became at the last check.
  int64_t kernels() const { return stepCount; }
  /// The library routines among them.
  const std::vector<std::string> &routines() const { return calledRoutines; }
  mlir::ModuleOp module();
  std::string text();

private:
  Settings settings() const;
  std::shared_ptr<const Executable> compile(const Sizes &sizes);
  std::vector<Tensor> makeInputs(const Sizes &sizes, Fill fill, unsigned seed);
  void checkRecipes(mlir::ModuleOp lowered);

  mlir::OwningOpRef<mlir::ModuleOp> program;
  mlir::func::FuncOp main;
  mlir::OpBuilder b;
  std::vector<std::string> symbolNames;
  std::vector<mlir::Value> results;
  bool finished = false;
  unsigned constants = 0;
  int64_t stepCount = 0;
  std::vector<std::string> calledRoutines;
  std::vector<std::pair<std::vector<std::optional<int64_t>>, std::shared_ptr<const Executable>>>
      compiled;
};

/// Numbers for a tensor whose memory ends at a page that must not be touched.
Tensor randomTensor(DType dtype, const Shape &shape, Fill fill, unsigned seed);

/// Adds a failure if the results differ from `expected` (floating point in f64) by more than
/// their type explains.
void expectClose(const Tensor &actual, const Tensor &expected, const std::string &what);

} // namespace headrace
