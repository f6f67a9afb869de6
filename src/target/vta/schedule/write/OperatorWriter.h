// All commands of an operator.
#pragma once

#include "target/vta/schedule/Schedule.h"
#include "target/vta/schedule/write/OperatorBuffers.h"

namespace headrace::vta {

/// Adds a run that computes buffers.result. The schedule must be legal, and the buffers must exist.
void writeOperator(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                   const Schedule &schedule, const OperatorBuffers &buffers, CommandStream &stream);

} // namespace headrace::vta
