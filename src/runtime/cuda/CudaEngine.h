// NVIDIA's devices as an engine.
#pragma once

#include "runtime/program/Engine.h"

namespace headrace::cuda {

/// The engine "cuda", which runs programs on NVIDIA devices.
const Engine &engine();

/// A runner of a program that is the device's alone (CudaRunner.cpp). Throws Error if there is
/// no device.
std::unique_ptr<ProgramRunner> makeRunnerOfDevice(Program program,
                                                  const std::vector<DeviceImage> &images);

} // namespace headrace::cuda
