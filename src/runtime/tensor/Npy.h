#pragma once

#include "runtime/tensor/Tensor.h"

#include <filesystem>

namespace headrace {

/// Reads a NumPy .npy file (format 1, 2 or 3, little endian). Fortran order is converted to C
/// order. bf16, which NumPy lacks, is the 2-byte void type that ml_dtypes stores it as.
Tensor readNpy(const std::filesystem::path &path);

/// Writes a .npy file that appears whole or not at all.
void writeNpy(const std::filesystem::path &path, const Tensor &tensor);

} // namespace headrace
