// Arrays of Python and tensors of the runtime, without copies if the layout allows.
#pragma once

#include "runtime/program/Program.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace headrace::python {

/// The input's memory as a tensor. An array of another type or layout, or something that is no
/// array, goes through `convert(value, index)`, which returns an array that fits or raises.
Tensor tensorFromPython(nanobind::handle value, const TensorSpec &spec, size_t index,
                        nanobind::handle convert);

/// An output that stays on its device; `stream` is the one whose order it belongs to.
struct DeviceArray {
  Tensor tensor;
  uintptr_t stream;
};

nanobind::dlpack::dtype exchangeType(DType type);

/// A NumPy array that owns the tensor's memory; bf16 comes as uint16, NumPy having no such type.
nanobind::object tensorToNumpy(Tensor tensor);

} // namespace headrace::python
