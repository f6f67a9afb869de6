#pragma once

#include "runtime/tensor/Tensor.h"

namespace headrace::cli {

/// Element i, whatever its type; long double holds every i64, u64 and f64 exactly.
long double elementAt(const Tensor &tensor, int64_t i);

bool isFloat(DType type);

} // namespace headrace::cli
