#pragma once

#include "driver/Model.h"

#include "tensors/Sizes.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::cli {

struct InputOptions {
  /// The arguments of --input.
  std::vector<std::string> texts;
  /// Fills the inputs not given.
  std::optional<uint64_t> seed;
  /// The arguments of --size.
  std::vector<std::string> sizes;
};

/// One tensor per input of the model: those given, and random ones for the others if there is
/// a seed. Throws Error when one is missing or does not fit.
std::vector<Tensor> gatherInputs(const Model &model, const InputOptions &options);

/// Inputs of values of any type. A sequence has the elements given for it, in order; an optional
/// input that is not given is nothing.
std::vector<RuntimeValue> gatherValues(const Model &model, const InputOptions &options);

} // namespace headrace::cli
