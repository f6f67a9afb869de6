#pragma once

#include "driver/Model.h"
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
  std::string recipe; // of both
};

void printJson(const std::vector<PhaseInfo> &phases);
void printTables(const Explanation &explanation, const Sizes &sizes);
void printJson(const Explanation &explanation, const Sizes &sizes);
/// Whether a kernel, operator or choice of it has that name.
bool speaksOf(const Explanation &explanation, const std::string &name);
/// Choices that the compiler did not make, and why; of one operator, if one is named.
void printReasons(const Explanation &explanation, const Sizes &sizes, const std::string &of);

void printReasons(const GradientExplanation &explanation, const Sizes &sizes,
                  const std::string &of);
void printTables(const GradientExplanation &explanation, const Sizes &sizes);
void printJson(const GradientExplanation &explanation, const Sizes &sizes);

} // namespace headrace::cli
