#pragma once

#include "analysis/cost/Rates.h"

namespace headrace::cli {

/// The rates of a machine as tables.
void printRates(const Rates &rates);

} // namespace headrace::cli
