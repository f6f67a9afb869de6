// Heuristics: the parameters that are taken for an operation of a given kind.
#pragma once

#include "target/cuda/schedule/LegalSchedule.h"

namespace headrace::cuda {

/// The numbers that should be fastest; a reason where the operation cannot be of that kind.
FormOrReason<Schedule> propose(mlir::Operation *op, Schedule::Kind kind, bool hasWarpgroups);

/// The same with what was given, and with what follows from that. It need not be legal.
FormOrReason<Schedule> propose(mlir::Operation *op, const GivenSchedule &given, bool hasWarpgroups);

} // namespace headrace::cuda
