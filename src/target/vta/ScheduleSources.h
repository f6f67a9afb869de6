// The sources that choose schedules, by their hashes: a schedule kept on disk is of no use to a
// program built from others.
#pragma once

#include <string_view>

namespace headrace::vta {

/// A line for each file of the schedules, the instructions and the cycle model.
std::string_view scheduleSources();

} // namespace headrace::vta
