// Reference evaluation of kernels (level 2): linalg over tensors, in double precision.
#pragma once

#include "dialect/reference/Reference.h"

namespace headrace::reference {

/// The kernel's results for these inputs; all values are in wide types. Elements that a kernel
/// yields without computing them are NaN, or integers that stand out. Throws InternalError if the
/// kernel reads or writes outside of a tensor.
std::vector<Tensor> evaluateKernel(hr::KernelOp kernel, Tensors inputs, Sizes symbols);

} // namespace headrace::reference
