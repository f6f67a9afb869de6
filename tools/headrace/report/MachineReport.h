#pragma once

#include "analysis/cost/Rates.h"

namespace headrace::cli {

/// The rates of a machine as tables; `isHere` if it can be measured.
void printRates(const Rates &rates, bool isHere);

} // namespace headrace::cli
