#pragma once

#include "runtime/cuda/DeviceLibrary.h"

namespace headrace::cuda {

/// Loads cuBLAS at first use; false if this machine has none.
bool cuBlasAvailable();

/// The library routine "cublas.gemm".
void cuBlasGemm(const RoutineCall &call);

} // namespace headrace::cuda
