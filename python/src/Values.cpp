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
    throw InternalError("'" + type + "' is not an element type");
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

namespace {

nb::list listOf(const RuntimeValue &values) {
  if (const StringTensor *strings = values.strings())
    return nb::cast<nb::list>(nb::cast(strings->elements));
  return nb::cast<nb::list>(tensorToNumpy(*values.tensor()).attr("tolist")());
}

bool isSameList(const RuntimeValue &a, const RuntimeValue &b) {
  if (a.strings() || b.strings())
    return a.strings() == b.strings();
  return a.tensor() && b.tensor() && a.tensor()->data() == b.tensor()->data() &&
         a.tensor()->elements() == b.tensor()->elements();
}

/// Maps as dicts. Those of one operator have the same keys, which are made once.
class Dicts {
public:
  nb::dict of(const MapValue &map) {
    if (!isSameList(map.keys, known)) {
      known = map.keys;
      keys = listOf(map.keys);
    }
    nb::dict dict;
    const Tensor *scores = map.values.tensor();
    if (scores && scores->dtype() == DType::F32) { // of a classifier: there are many
      for (size_t i = 0; i < keys.size(); ++i)
        dict[keys[i]] = nb::float_(scores->as<float>()[i]);
      return dict;
    }
    nb::list values = listOf(map.values);
    for (size_t i = 0; i < keys.size(); ++i)
      dict[keys[i]] = values[i];
    return dict;
  }

private:
  RuntimeValue known;
  nb::list keys;
};

nb::list sequenceToPython(const std::vector<RuntimeValue> &elements) {
  nb::list list;
  Dicts dicts;
  for (const RuntimeValue &element : elements)
    list.append(element.map() ? nb::object(dicts.of(*element.map())) : valueToPython(element));
  return list;
}

} // namespace

nb::object valueToPython(RuntimeValue value) {
  if (const StringTensor *strings = value.strings())
    return nb::make_tuple("string", nb::tuple(nb::cast(strings->shape)),
                          nb::cast(strings->elements));
  if (const std::vector<RuntimeValue> *elements = value.sequence())
    return sequenceToPython(*elements);
  if (const MapValue *map = value.map())
    return Dicts().of(*map);
  if (!value.tensor())
    return nb::none();
  Tensor tensor = *value.tensor();
  value = {}; // so that the array may own the memory
  std::string type(nameOf(tensor.dtype()));
  return nb::make_tuple(type, tensorToNumpy(std::move(tensor)));
}

} // namespace headrace::python
