// The tape of a run of a split model: which programs the run used for the tensors that gradients
// flow to, and what they saved. The backward pass (RegionGradients.h) needs nothing else, so a tape
// may also leave the call as a value, and come back later.
#pragma once

#include "runtime/value/RuntimeValue.h"

namespace headrace::split {

bool isFloat(DType type);

/// A tensor of a run. Tensors in the same memory are one value.
struct FollowedTensor {
  int64_t value = -1; // -1: no gradient flows to it
  DType type = DType::F32;
  Shape shape;
};

/// A program that ran, or a node of the host.
struct UsedProgram {
  int64_t number = 0;                  // of RegionGradients
  std::vector<FollowedTensor> inputs;  // that it is differentiated by
  std::vector<FollowedTensor> outputs; // those of floating-point type
  std::vector<Tensor> saved;           // for its backward program
};

struct GradientTape {
  std::vector<UsedProgram> used;       // in order
  std::vector<FollowedTensor> inputs;  // of the model, that it is differentiated by
  std::vector<FollowedTensor> outputs; // of the model, all of them
};

/// A sequence of tensors: integers, then the saved tensors. `origin` tells the tapes of one model
/// from those of others.
RuntimeValue encoded(const GradientTape &tape, int64_t origin);
/// Throws Error if the value is not a tape of this origin.
GradientTape decoded(const RuntimeValue &value, int64_t origin, const std::string &model);

} // namespace headrace::split
