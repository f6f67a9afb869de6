#pragma once

#include "script/host/Value.h"
#include <nanobind/nanobind.h>

namespace headrace::python {

/// A variable from headrace._script: a scalar, an f64 array of rank 2, the parts of a sparse matrix
/// (rows, columns, offsets, indices, values), those of a frame, or a value as it is.
script::Value scriptValueFromPython(nanobind::handle value);

/// Matrices share their memory with the arrays.
nanobind::object scriptValueToPython(const script::Value &value);

} // namespace headrace::python
