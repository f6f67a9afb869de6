// How contractions and convolutions are computed on NVIDIA's devices.
#pragma once

#include "target/expansion/Expansion.h"

namespace headrace::cuda {

const Expansion &generatedContraction();
const Expansion &generatedConvolution();
const Expansion &cuBlasContraction();
const Expansion &cuDnnConvolution();
const Expansion &cuDnnFusedConvolution();
const Expansion &cuDnnFusedContraction();

} // namespace headrace::cuda
