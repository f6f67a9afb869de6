// Values inside of a compiled program, next to those of the reference.
#pragma once

#include "runtime/tensor/Tensor.h"

#include <string>
#include <vector>

namespace headrace {

/// A value that a step of the compiled program stores and the program of level 1, as it is after
/// the phase `layout`, has too.
struct TracedValue {
  size_t step = 0;
  std::string kernel;
  std::vector<std::string> operators; // the user's operators in that step
  std::string node;                   // the user's operator that has this value
  /// In the declared type, and in the layout that the phase `layout` chose.
  Tensor found;
  /// The value in the reference, floats in f64.
  Tensor exact;
  /// The values with the rounding of the declared types, and with larger errors.
  std::vector<Tensor> rounded, disturbed;
};

/// Evaluations with rounding, next to the exact one: see Model::roundedReference.
struct RoundedRuns {
  int rounded = 0;
  int disturbed = 0;
  double disturbance = 1; // the errors of the latter, as multiples of those of the types
};

/// The values of a call, step by step, next to those of the reference.
struct KernelTrace {
  /// In the order of steps.
  std::vector<TracedValue> values;
  /// The outputs of the program with the traced values stored. They are not part of `values`.
  std::vector<Tensor> outputs;
  /// The outputs of the program after the phase `layout` in the reference; floats in f64.
  std::vector<Tensor> exactOutputs;
  /// Names of kernels and routines that store no such value.
  std::vector<std::string> untraced;
  /// Names of operators whose results the reference took from the program, because an accelerator
  /// or a library computes them: they are not compared.
  std::vector<std::string> taken;
  /// Why there is nothing of all this; empty otherwise.
  std::string unsupportedReason;
};

} // namespace headrace
