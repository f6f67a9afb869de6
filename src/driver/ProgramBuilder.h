// From a compiled function to the runtime's plain program: buffers, lifetimes, steps.
#pragma once

#include "runtime/program/Program.h"
#include "target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// The function's inputs and outputs, with their names.
std::vector<TensorSpec> inputSpecs(mlir::func::FuncOp function);
std::vector<TensorSpec> outputSpecs(mlir::func::FuncOp function);
/// Constants of floating-point type that have a name.
std::vector<TensorSpec> weightSpecs(mlir::func::FuncOp function);
std::vector<std::string> symbolNames(mlir::func::FuncOp function);
/// The symbols with the sizes the function is valid for, and at least `least`.
std::vector<Symbol> symbolGuards(mlir::func::FuncOp function, int64_t least);

/// The program of a function of launches, library calls, views and constants. Steps run where
/// placement says (target/Placement.h); a value that one engine computes and another reads is
/// copied, once, by a step of its own.
Program buildProgram(mlir::func::FuncOp function);
/// Likewise, with empty tensors for constants, for those who only ask what the program would take.
Program buildProgramWithoutData(mlir::func::FuncOp function);

/// A buffer of the program that holds a value of level 1 once its step has run.
struct NumberedBuffer {
  int buffer = 0;
  int64_t number = 0; // of the value (transform/kernels/ValueNumbers.h)
  size_t step = 0;
  /// The buffer's type and shape, without a name.
  TensorSpec spec;
};
/// The numbered buffers of `buildProgram`, in the order of steps; empty if values have no numbers.
std::vector<NumberedBuffer> numberedBuffers(mlir::func::FuncOp function);

} // namespace headrace
