// The operators of a machine that compute a term of tensors, at least cost.
#pragma once

#include "rewrite/accelerator/Accelerator.h"
#include "rewrite/derivation/Derivation.h"
#include "rewrite/egraph/Saturation.h"
#include "rewrite/extract/Extraction.h"
#include "rewrite/tensor/Interpreter.h"

namespace headrace::rewrite {

struct Mapping {
  TermId start = 0; ///< the term given, written to the output
  TermId term = 0;  ///< of operators of the machine, movement, and what is left over
  /// The cost of what the machine computes of the term; no other term that was found costs less
  /// than the second.
  double cost = 0, minCost = 0;
  ExtractionMethod method = ExtractionMethod::Greedy;
  Saturation saturation;
  size_t classes = 0, nodes = 0;

  std::map<std::string, int64_t> operations;                 ///< "MVMul[64, 64]": how many
  int64_t loadedBytes = 0, storedBytes = 0, outputBytes = 0; ///< to the chip and from it
  int64_t usefulProducts = 0, doneProducts = 0;              ///< of numbers, in products of tensors
  std::vector<std::string> leftOver; ///< operators of tensors that the machine cannot compute

  std::vector<DerivationStep> derivation; ///< from `start` to `term`; only if asked for
  std::optional<double> replayError;      ///< largest difference of values, once replayed
};

struct MappingOptions {
  SaturationLimits limits;
  ExtractionLimits extraction;
  bool derives = false; ///< keeps a proof, and gives the derivation
};

/// Throws Error if the term or a rule is wrong. Limits end the search with the best found.
Mapping mapToMachine(Terms &terms, TermId term, const Accelerator &machine, const RuleSet &rules,
                     const MappingOptions &options = {});

/// Applies the mapping's derivation step by step, each on random values, too, and notes the largest
/// difference. Throws Error at a step that is wrong.
void replay(Terms &terms, Mapping &mapping, const Accelerator &machine, uint64_t seed);

/// The term computed as the machine does, with its numbers.
Array runOnMachine(const Terms &terms, TermId term, const Accelerator &machine,
                   const Inputs &inputs);

} // namespace headrace::rewrite
