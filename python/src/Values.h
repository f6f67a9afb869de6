// Values of models that are split into several programs, as Python objects.
//
// A tensor is (element type, array), a tensor of strings ("string", shape, list), a sequence a
// list, nothing None; headrace/_values.py turns them into what users see. A map comes as ("map",
// keys, values) and goes as a dict.
#pragma once

#include "runtime/value/RuntimeValue.h"

#include <nanobind/nanobind.h>

namespace headrace::python {

RuntimeValue valueFromPython(nanobind::handle value);
nanobind::object valueToPython(RuntimeValue value);

} // namespace headrace::python
