// About how many cycles a schedule takes, in closed form: a sieve in front of the cycle model.
#pragma once

#include "target/vta/schedule/AluProgram.h"
#include "target/vta/schedule/OperatorShape.h"
#include "target/vta/schedule/Schedule.h"

namespace headrace::vta {

/// For a legal schedule.
double predictCycles(const OperatorShape &shape, const AluProgram &stages, const Schedule &schedule,
                     const Configuration &configuration);

} // namespace headrace::vta
