// Code for the engine of accelerator intrinsics: a mapped term, with the machine it was mapped to,
// as text.
#pragma once

#include "rewrite/accelerator/Accelerator.h"
#include "rewrite/tensor/Array.h"
#include "rewrite/term/Terms.h"
#include "runtime/tensor/DimExpr.h"

namespace headrace::rewrite {

struct CoarseInput {
  std::string name;
  Shape shape;
  /// The value of a constant input, which is not an operand of the step.
  std::optional<double> number;
  /// Whether each element of the batch has its own tensor for this input.
  bool leads = false;
};

struct CoarseCode {
  std::string machine; // its file's text
  TermId term = 0;
  /// Inputs without a number are the step's operands, in order; its result follows them.
  std::vector<CoarseInput> inputs;
  /// How often the term is computed, each time for the next element.
  DimExpr batch;
};

std::string toText(const CoarseCode &code, const Terms &terms);
/// Throws JsonFault, and Error if the machine's description is not valid.
CoarseCode fromText(std::string_view text, Terms &terms);

} // namespace headrace::rewrite
