// Terms of tensors as a language that rules are written in.
#pragma once

#include "rewrite/tensor/Operators.h"

namespace headrace::rewrite {

/// Operators are those of a set; functions of sizes are
///   size(?x, a) rank(?x) elements(?x) min(a, b) max(a, b)
///   reorders(?f): whether a function's order does not matter, as reductions need it
///   computes(?f): whether the accelerator has an operator for a function
///   onChip(?x) fitsChip(?x): of memories
/// Outside of accelerators the last three hold.
class TensorLanguage : public Language {
public:
  explicit TensorLanguage(const OperatorSet &operators) : operators(operators) {}

  std::optional<OperatorSignature> operatorNamed(std::string_view name) const override;
  std::optional<FunctionSignature> functionNamed(std::string_view name) const override;
  bool hasName(std::string_view name) const override;
  std::optional<size_t> sizesOf(std::string_view name) const override;

private:
  const OperatorSet &operators;
};

} // namespace headrace::rewrite
