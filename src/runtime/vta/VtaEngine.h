// The engine "vta": steps of a program run on the simulator, which checks all they do.
#pragma once

#include "runtime/program/Engine.h"

namespace headrace::vta {

/// The clock that its times are told for; the published boards have 100 MHz.
inline constexpr double megahertz = 100;

/// The engine "vta".
const Engine &vtaEngine();

} // namespace headrace::vta
