// The constant weights of the program's operators, as 8-bit integers times powers of two.
#pragma once

#include "dialect/Hr.h"
#include "target/vta/fixed/Chain.h"

namespace headrace::vta {

struct Weights {
  Tensor integers;            // I8, the first dimension is that of the results' channels
  std::vector<int> exponents; // one, or one for each channel of results
};

/// The weights of a convolution: out x in x window height x window width, with zeros for dilation.
/// Throws Unsupported.
Weights weightsOf(hr::ConvOp conv);
/// The weights of a matmul by a constant matrix: columns of the result x depth. Throws Unsupported.
Weights weightsOf(hr::ContractOp contract);

} // namespace headrace::vta
