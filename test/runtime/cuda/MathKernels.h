// The kernels of test/target/cuda/code/MathKernels.c as PTX.
#pragma once

#include <string>

namespace headrace::test {

std::string mathKernels();

} // namespace headrace::test
