// The calibration that a machine gets without being asked.
#pragma once

#include "driver/Settings.h"

namespace headrace {

/// Called after a program was compiled. If nothing was measured on this machine yet, measures it in
/// the background, once per process at most, and stores the result for the next process: this one
/// keeps the rates that it began with. Does nothing for other targets than the CPU, if the rates
/// are pinned (HEADRACE_RATES), or if there is no cache to keep them in.
void calibrateOnce(const Settings &settings);

/// From here on, this process leaves that to others: it measures by itself.
void forgoFirstCalibration();

} // namespace headrace
