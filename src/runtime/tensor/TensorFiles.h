#pragma once

#include "runtime/system/MappedFile.h"
#include "runtime/tensor/Tensor.h"

#include <span>
#include <vector>

namespace headrace {

/// The mapped files that tensors' data is in, each once.
std::vector<std::shared_ptr<const MappedFile>> filesHolding(std::span<const Tensor> tensors);

} // namespace headrace
