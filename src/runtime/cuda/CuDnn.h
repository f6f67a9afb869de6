#pragma once

#include "runtime/cuda/DeviceLibrary.h"

namespace headrace::cuda {

/// Loads cuDNN at first use; false if this machine has none.
bool cuDnnAvailable();

/// The library routine "cudnn.conv".
void cuDnnConvolution(const RoutineCall &call);

} // namespace headrace::cuda
