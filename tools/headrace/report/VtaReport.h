// Time and work of a program of the VTA accelerator, for people and for programs.
#pragma once

#include "runtime/vta/Simulator.h"

namespace headrace::cli {

void printVtaReport(const vta::Program &program, const vta::Simulation &simulation,
                    const vta::CycleConstants &constants);
std::string vtaReportJson(const vta::Program &program, const vta::Simulation &simulation,
                          const vta::CycleConstants &constants);

} // namespace headrace::cli
