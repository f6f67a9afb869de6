#include "Values.h"

#include "runtime/system/Error.h"

#include "Arrays.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

static RuntimeValue tensorOrMapOf(const nb::tuple &parts) {
  auto type = nb::cast<std::string>(parts[0]);
  if (type == "string")
    return StringTensor{nb::cast<Shape>(parts[1]), nb::cast<std::vector<std::string>>(parts[2])};
  if (type == "map")
    return std::make_shared<const MapValue>(
        MapValue{valueFromPython(parts[1]), valueFromPython(parts[2])});
  std::optional<DType> dtype = parseDType(type);
  if (!dtype)
    throw InternalError("'" + type + "' is no element type");
  // The array fits already, as numbers in memory at least.
  nb::object same = nb::cpp_function([](nb::object value, size_t) { return value; });
  return tensorFromPython(parts[1], TensorSpec{"", *dtype, {}}, 0, same);
}

RuntimeValue valueFromPython(nb::handle value) {
  if (value.is_none())
    return {};
  if (nb::isinstance<nb::tuple>(value))
    return tensorOrMapOf(nb::borrow<nb::tuple>(value));
  std::vector<RuntimeValue> elements;
  for (nb::handle element : nb::borrow<nb::list>(value))
    elements.push_back(valueFromPython(element));
  return elements;
}

nb::object valueToPython(RuntimeValue value) {
  if (const StringTensor *strings = value.strings())
    return nb::make_tuple("string", nb::tuple(nb::cast(strings->shape)),
                          nb::cast(strings->elements));
  if (const std::vector<RuntimeValue> *elements = value.sequence()) {
    nb::list list;
    for (const RuntimeValue &element : *elements)
      list.append(valueToPython(element));
    return list;
  }
  if (const MapValue *map = value.map())
    return nb::make_tuple("map", valueToPython(map->keys), valueToPython(map->values));
  if (!value.tensor())
    return nb::none();
  Tensor tensor = *value.tensor();
  value = {}; // so that the array may own the memory
  std::string type(nameOf(tensor.dtype()));
  return nb::make_tuple(type, tensorToNumpy(std::move(tensor)));
}

} // namespace headrace::python
