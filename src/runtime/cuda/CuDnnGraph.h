// Convolutions with what follows them as one call of cuDNN, by its graph interface.
#pragma once

#include "runtime/cuda/DeviceLibrary.h"

namespace headrace::cuda {

/// Loads cuDNN at first use; false if this machine has none with that interface.
bool cuDnnGraphAvailable();

/// The library routine "cudnn.convolution".
void cuDnnFusedConvolution(const RoutineCall &call);
/// Chooses and compiles the code that such a call takes, which may take half a second.
void prepareCuDnnFusedConvolution(const RoutineCall &call);

} // namespace headrace::cuda
