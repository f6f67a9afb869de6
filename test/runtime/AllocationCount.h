#pragma once

#include <cstdint>

namespace headrace::test {

/// How often the program has called `operator new` so far.
int64_t allocationCount();

} // namespace headrace::test
