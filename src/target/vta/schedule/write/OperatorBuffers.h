// The buffers of an operator in DRAM, those of its own constants among them.
#pragma once

#include "runtime/vta/CommandStream.h"
#include "target/vta/schedule/AluProgram.h"
#include "target/vta/schedule/OperatorShape.h"

namespace headrace::vta {

struct OperatorBuffers {
  std::vector<size_t> inputs;
  size_t result = 0;
  size_t weights = 0;   ///< where the operator multiplies
  size_t constants = 0; ///< where its stages have constants of channels
};

/// Buffers of zeros for the values that the operator reads and writes.
OperatorBuffers allocateOperands(const Operator &op, CommandStream &stream);

/// Buffers of weights and constants; of zeros if their values are not requested.
void allocateConstants(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                       bool withValues, CommandStream &stream, OperatorBuffers &buffers);

} // namespace headrace::vta
