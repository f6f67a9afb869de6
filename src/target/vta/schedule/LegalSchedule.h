// Legality: operators that the accelerator can compute, and schedules that fit its memories.
#pragma once

#include "target/vta/schedule/Schedule.h"

namespace headrace::vta {

struct AluProgram;
struct OperatorShape;

/// Why the accelerator cannot compute the operator, however it is scheduled; empty if it can.
std::string unsupportedReason(const Operator &op, const Configuration &configuration);

/// Why the schedule cannot be; empty if it can: "a tile of 14 x 14 x 4 takes 3136 elements of
/// INP, a virtual thread has 1024".
std::string unsupportedReason(const Operator &op, const Schedule &schedule,
                              const Configuration &configuration);

/// Why the schedule cannot be, for a supported operator counted in blocks; empty if it can.
std::string unsupportedReason(const OperatorShape &shape, const AluProgram &stages,
                              const Schedule &schedule, const Configuration &configuration);

} // namespace headrace::vta
