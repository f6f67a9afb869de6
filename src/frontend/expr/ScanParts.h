// A recurrence taken apart: stages that do not depend on earlier steps, and the stages of a step.
#pragma once

#include "frontend/expr/Accesses.h"
#include "frontend/expr/Hoist.h"

namespace headrace::expr {

struct ScanParts {
  using StagePtr = std::shared_ptr<const StageInfo>;
  /// Stages for all steps at once, in order.
  std::vector<FlatStage> before;
  /// Tensors that a step reads: at the step, along their first dimension; or as a whole.
  std::vector<StagePtr> sequences, weights;
  /// The stages of a step; the last one is its value.
  std::vector<FlatStage> step;
  /// The tensors that stand for earlier steps, and how far back they are.
  std::map<const StageInfo *, int64_t> stepsBack;
  /// The earlier steps that a step may read.
  int64_t history = 1;
};

/// Throws Error if a step reads what is not an earlier one, or leaves a tensor.
ScanParts scanParts(const std::shared_ptr<const StageInfo> &stage, const std::string &name,
                    SizeTable &sizes, const Symbols &symbols, mlir::MLIRContext *context);

} // namespace headrace::expr
