// The accelerator's steps of a compiled program as one program of its own, for other simulators and
// for hardware.
#pragma once

#include "runtime/program/Program.h"
#include "runtime/vta/Program.h"

namespace headrace::vta {

/// One DRAM for all steps of the engine "vta": what steps hand each other is a temporary of it,
/// what the host writes an input, what the host reads an output. Between the accelerator's runs
/// stand the host's steps, by name; those before the first and after the last are left out. Throws
/// Error if the program has no step of the accelerator.
Program linkProgram(const headrace::Program &program, std::span<const DeviceImage> images);

} // namespace headrace::vta
