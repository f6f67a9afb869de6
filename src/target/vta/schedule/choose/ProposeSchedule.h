// The choice among the schedules of an operator, by cycles.
#pragma once

#include "target/vta/schedule/LegalSchedule.h"

#include <optional>

namespace headrace::vta {

/// Among the schedules with the least predicted cycles, the one with the fewest cycles in the cycle
/// model. Deterministic. `threads`: only schedules with this many threads. Throws Error if the
/// accelerator cannot compute the operator.
Schedule propose(const Operator &op, const Configuration &configuration,
                 std::optional<int64_t> threads = {});

/// Up to `most` legal schedules, those with the least predicted cycles, the best first.
std::vector<Schedule> alternatives(const Operator &op, const Configuration &configuration,
                                   size_t most, std::optional<int64_t> threads = {});

/// The values of a parameter worth trying: tiles that cut a loop evenly. Not all of their
/// combinations are legal.
std::vector<int64_t> domainOf(const Operator &op, const Configuration &configuration,
                              std::string_view parameter);

} // namespace headrace::vta
