// Heuristics: the parameters that are taken for an operation of a given kind.
#pragma once

#include "target/cuda/schedule/LegalSchedule.h"

namespace headrace::cuda {

/// The parameters that should be fastest; a reason if the operation cannot be of that kind.
FormOrReason<Schedule> propose(mlir::Operation *op, Schedule::Kind kind,
                               const DeviceTraits &device);

/// A schedule with the given parameters, and with those that follow from them. It need not be
/// legal.
FormOrReason<Schedule> propose(mlir::Operation *op, const GivenSchedule &given,
                               const DeviceTraits &device);

/// The share of the speed of products (DeviceRates.h) that one reaches under a schedule for
/// products: by what its tiles reach, and by how evenly they are shared.
double productShare(const Product &product, const Schedule &schedule, int64_t multiprocessors);

} // namespace headrace::cuda
