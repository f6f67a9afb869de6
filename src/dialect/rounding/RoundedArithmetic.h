// Rounding as arithmetic in a program's own types has it, simulated while the reference is
// evaluated: what a straightforward implementation in f32 would compute.
#pragma once

#include "dialect/reference/Evaluator.h"
#include "dialect/reference/ScalarBody.h"

#include <cstdint>

namespace headrace {

/// Rounds the result of every operator, and of every function inside of a map, to its declared
/// type, with errors of the size that its computation has in that type: of half a unit for a
/// function, of sqrt(n) units for a sum of n values one after the other. Values that need no
/// rounding stay what they are, so that movement, comparisons and sums of small integers are exact.
class RoundedArithmetic final : public EvaluationObserver, private reference::ScalarObserver {
public:
  /// `scale` multiplies all errors: more than 1 asks how steep the program is near its inputs.
  RoundedArithmetic(uint64_t seed, double scale, llvm::ArrayRef<int64_t> symbols)
      : state(seed * 0x9e3779b97f4a7c15 + 1), scale(scale), symbols(symbols) {}

  void changeOperands(mlir::Operation &op, llvm::MutableArrayRef<Tensor> operands) override;
  /// Rounds the functions of a map one by one: 1 + tanh(x) has the error of tanh(x), however small
  /// the sum is. Rounds the operators of a recurrence at every step.
  Tensor ownResult(mlir::Operation &op, llvm::ArrayRef<Tensor> operands) override;
  Tensor changedResult(mlir::Operation &op, Tensor result) override;

private:
  void changeScalar(mlir::Operation &op, reference::Lanes &result) override;
  /// Uniform in [-1, 1).
  double random();
  /// The values, each with a random relative error of at most `most`.
  Tensor moved(const Tensor &values, double most);

  uint64_t state;
  double scale;
  llvm::ArrayRef<int64_t> symbols;
  /// The relative errors that rounding makes inside of the current operator and in its result.
  double errorInside = 0, errorOfResult = 0;
};

} // namespace headrace
