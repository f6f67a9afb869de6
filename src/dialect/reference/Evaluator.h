// Reference evaluation of a program at level 1, with which every compiled result is compared, or at
// level 2.
#pragma once

#include "runtime/tensor/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// Follows an evaluation and may change its values, which are in wide types (Reference.h).
class EvaluationObserver {
public:
  virtual ~EvaluationObserver() = default;
  /// Called before an operator is evaluated, with its operands.
  virtual void changeOperands(mlir::Operation &, llvm::MutableArrayRef<Tensor>) {}
  /// The result of an operator that the observer evaluates itself; no tensor if it does not.
  virtual Tensor ownResult(mlir::Operation &, llvm::ArrayRef<Tensor>) { return {}; }
  /// Called after an operator is evaluated; returns the result that the program goes on with.
  virtual Tensor changedResult(mlir::Operation &, Tensor result) { return result; }
  /// The result of an operation that is neither an operator nor a kernel, such as a library call,
  /// for these operands; no tensor if it is not known.
  virtual Tensor knownResult(mlir::OpResult, llvm::ArrayRef<Tensor>) { return {}; }
};

/// Evaluates the function operator by operator, or kernel by kernel, in double precision. `inputs`
/// are in the function's declared types, and so are the results; with `keepDouble`, floating-point
/// results stay in DType::F64. `symbols` are the values of the program's dynamic dimensions.
/// `observer` may be null. Throws Error when the inputs do not fit the function.
std::vector<Tensor> evaluateFunction(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs,
                                     llvm::ArrayRef<int64_t> symbols, bool keepDouble = false,
                                     EvaluationObserver *observer = nullptr);

} // namespace headrace
