#pragma once

#include "runtime/tensor/Tensor.h"

#include <string>

namespace headrace::cli {

/// The values in nested brackets as NumPy shows them: aligned, and only the edges of large ones.
std::string valuesText(const Tensor &tensor);

} // namespace headrace::cli
