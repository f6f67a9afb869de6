// PyTorch's promotion of element types.
#pragma once

#include "frontend/aten/Call.h"

namespace headrace::aten {

/// The type in which an operator computes with these tensors and scalars: scalars and tensors
/// without dimensions only matter if they are of a higher kind (bool, integer, float) than the
/// others.
DType promoted(const Call &c, std::initializer_list<Value> operands);

} // namespace headrace::aten
