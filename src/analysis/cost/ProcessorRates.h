// The rates of a CPU from its description, if none were measured.
#pragma once

#include "analysis/cost/Rates.h"

namespace headrace {

/// Properties of a CPU that are known without measuring.
struct ProcessorDescription {
  std::string name;
  int64_t vectorBytes = 32;
  int threads = 4;
  /// Caches: nearest, a core's own, shared by all.
  double nearBytes = 32 << 10, coreBytes = 1 << 20, sharedBytes = 16 << 20;
};

/// This machine's CPU, as far as the system tells.
ProcessorDescription describeHost();

/// Equal descriptions give equal rates, on any machine.
Rates derivedRates(const ProcessorDescription &processor);

} // namespace headrace
