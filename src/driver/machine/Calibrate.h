// Measures the speeds of the machine that the process runs on.
#pragma once

#include "analysis/cost/Rates.h"
#include "driver/Settings.h"

#include <functional>
#include <optional>

namespace headrace {

/// The rates that the compiler uses for a target; throws Error if there is no such target.
Rates ratesOf(const Settings &settings);

/// Times small programs that the compiler makes, and a library's routines, on one thread and on
/// all: a few seconds. `progress` is told what comes next. Throws Error for a target that is not
/// this CPU.
Rates calibrate(const Settings &settings,
                const std::function<void(const std::string &)> &progress = {});

/// Times fewer and smaller programs, on one thread: at most 300 ms. Nothing if the machine was busy
/// meanwhile, or its clock far from what its description says.
std::optional<Rates> calibrateQuickly(const Settings &settings);

} // namespace headrace
