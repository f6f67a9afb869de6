// The commands of an operator: transfers, micro-code and tokens, as its schedule says.
#pragma once

#include "runtime/vta/CommandStream.h"
#include "target/vta/schedule/LegalSchedule.h"

#include <span>

namespace headrace::vta {

/// Adds a run to the stream that computes `result` from `inputs`, buffers of the layouts of their
/// images (inputs[0] is the operator's, the others those that stages name). Weights and constants
/// of channels get buffers of their own, named after the operator ("conv1.weights",
/// "conv1.constants"). Operators follow each other on one stream. Throws Error if the operator
/// or the schedule is not legal, a buffer is not that of its image, or the result is an input.
void write(const Operator &op, const Schedule &schedule, CommandStream &stream,
           std::span<const size_t> inputs, size_t result);

} // namespace headrace::vta
