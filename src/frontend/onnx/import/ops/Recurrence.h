// Writes `hr.recur`: a state that is carried from step to step.
#pragma once

#include "frontend/common/OperatorBuilder.h"

namespace headrace::onnx {

/// The values that one step sees.
struct RecurrenceStep {
  mlir::Value state;
  mlir::ValueRange now; // its part of every sequence
  mlir::ValueRange weights;
};

/// The states after each step, along a first dimension; `next` writes one step with computes.
mlir::Value writeRecurrence(OperatorBuilder &b, mlir::ValueRange sequences, mlir::Value initial,
                            mlir::ValueRange weights,
                            llvm::function_ref<mlir::Value(const RecurrenceStep &)> next);

} // namespace headrace::onnx
