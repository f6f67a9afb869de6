#pragma once

#include "runtime/system/Processor.h"

#include <string>
#include <vector>

namespace headrace {

/// The index of the best code that runs on this machine: for a device of it, else of the highest
/// level, then with the most features. HEADRACE_CPU_LEVEL sets an upper bound. Throws Error naming
/// `source`, what the code needs and what this machine has, if none runs.
size_t chooseCode(const std::vector<ProcessorNeeds> &code, const std::string &source);

} // namespace headrace
