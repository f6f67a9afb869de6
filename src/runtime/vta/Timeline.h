// Activity of the modules over time, for people: a chart, and a trace for Perfetto.
#pragma once

#include "runtime/vta/Simulator.h"

namespace headrace::vta {

/// An SVG with a lane for each module. Instructions too short to be seen alone are drawn as one.
std::string timelineSvg(const Simulation &simulation, const Configuration &configuration,
                        const std::string &title);

/// Chrome's JSON of events, which ui.perfetto.dev opens; a microsecond of it is a cycle.
std::string timelineTrace(const Simulation &simulation);

} // namespace headrace::vta
