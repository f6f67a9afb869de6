// Heuristics: the parameters that are taken for an operation of a given kind.
#pragma once

#include "target/cuda/schedule/LegalSchedule.h"

namespace headrace::cuda {

/// The parameters that should be fastest; a reason if the operation cannot be of that kind.
FormOrReason<Schedule> propose(mlir::Operation *op, Schedule::Kind kind, bool hasWarpgroups);

/// A schedule with the given parameters, and with those that follow from them. It need not be
/// legal.
FormOrReason<Schedule> propose(mlir::Operation *op, const GivenSchedule &given, bool hasWarpgroups);

} // namespace headrace::cuda
