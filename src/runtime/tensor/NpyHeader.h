#pragma once

#include "runtime/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace headrace {

/// The header of a .npy file: type, order and shape of its array.
struct NpyHeader {
  DType dtype = DType::F32;
  bool fortranOrder = false;
  Shape shape;
};

/// Parses the Python dictionary, e.g. "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3),
/// }". Throws Error whose message begins with `file`.
NpyHeader parseNpyHeader(std::string_view text, const std::string &file);

/// The dictionary of a C-order array, without padding.
std::string npyHeaderText(DType dtype, const Shape &shape);

} // namespace headrace
