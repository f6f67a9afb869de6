// Winners inside the whole model: caches and memory are shared there with all other kernels, so a
// schedule that is faster alone need not be.
#pragma once

#include "driver/Model.h"

#include "tune/store/TunedRecord.h"

namespace headrace::tune {

struct Confirmation {
  /// The records with which the model is faster; empty if there are none.
  std::vector<TunedRecord> kept;
  /// The time of a call with these records in relation to one without, in turns: at most 1.
  double ratio = 1;
};

/// Compiles the model with and without results and times both in turns, for about so many seconds
/// in all. If all records together are not faster, finds those that are by halves.
Confirmation confirmed(const Model &model, const Settings &settings,
                       const std::vector<std::optional<int64_t>> &sizes,
                       const std::vector<TunedRecord> &records, double seconds);

} // namespace headrace::tune
