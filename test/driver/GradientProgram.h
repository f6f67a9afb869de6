// Level-1 programs whose gradients are compared with finite differences, evaluated and compiled.
#pragma once

#include "driver/models/Gradient.h"

#include "CompiledProgram.h"

namespace headrace {

/// Values that inputs are filled with before they are moved a little.
enum class Numbers {
  Any,      // in [-2, 2)
  Positive, // in [0.3, 2.3)
  Unit,     // in (-0.9, 0.9)
};

class GradientProgram : public CompiledProgram {
public:
  /// Double precision: differences of the reference are exact to nine digits.
  mlir::Type f64() { return builder().getF64Type(); }
  mlir::Value input(llvm::ArrayRef<int64_t> shape) { return CompiledProgram::input(shape, f64()); }
  mlir::Value constant(llvm::ArrayRef<int64_t> shape) {
    return CompiledProgram::constant(shape, f64());
  }

  GradientOptions options;

  /// The program with its gradients.
  LevelOneProgram gradient();

  /// Compares every element of every gradient with a central difference, then compiles the program
  /// with its gradients and compares that with its reference.
  void checkGradient(const Sizes &sizes = {}, Numbers numbers = Numbers::Any, bool compiled = true);

  /// Runs forward, then backward, and compares with the program of both.
  void checkSplit(const Sizes &sizes = {});
};

} // namespace headrace
