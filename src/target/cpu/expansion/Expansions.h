// How contractions, convolutions, attention, forests, sorting and linear systems are computed
// on CPUs.
#pragma once

#include "target/expansion/Expansion.h"

namespace headrace {

const Expansion &generatedContractionOnCpu();
const Expansion &generatedConvolutionOnCpu();
const Expansion &openBlasContraction();
const Expansion &openBlasConvolution();
const Expansion &openBlasAttention();
const Expansion &int8Contraction();
const Expansion &int8Convolution();
const Expansion &routineForest();
const Expansion &routineSort();
const Expansion &choleskySystems();
const Expansion &luSystems();

} // namespace headrace
