#pragma once

#include "runtime/program/Explanation.h"

#include "tensors/Sizes.h"

namespace headrace::cli {

/// A program and its gradient.
struct GradientExplanation {
  Explanation forward, backward;
  std::vector<std::string> symbols;
  /// Tensors kept from the forward program for the backward one, beyond inputs and outputs.
  std::vector<TensorSpec> kept;
  std::vector<std::string> computedAgain;
};

void printTables(const Explanation &explanation, const Sizes &sizes);
void printJson(const Explanation &explanation, const Sizes &sizes);

void printTables(const GradientExplanation &explanation, const Sizes &sizes);
void printJson(const GradientExplanation &explanation, const Sizes &sizes);

} // namespace headrace::cli
