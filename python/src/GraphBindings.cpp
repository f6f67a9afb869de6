// Programs built operator by operator: src/frontend/graph and src/frontend/aten for headrace's
// front ends in Python.
#include "driver/programs/GraphModel.h"
#include "frontend/aten/Table.h"
#include "runtime/system/Error.h"

#include "Arrays.h"
#include "Bindings.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

template <typename T>
struct nanobind::detail::type_caster<headrace::graph::Checked<T>>
    : list_caster<headrace::graph::Checked<T>, T> {};

namespace headrace::python {

namespace {

using namespace graph;

DType dtypeNamed(const std::string &name) {
  if (std::optional<DType> type = parseDType(name))
    return *type;
  throw InternalError("no element type is called " + name);
}

Node constant(GraphBuilder &builder, nb::handle array, const std::string &type) {
  TensorSpec spec;
  spec.name = "constant";
  spec.dtype = dtypeNamed(type);
  // Whoever calls has an array in C order already.
  nb::object asIs = nb::cpp_function([](nb::object value, size_t) { return value; });
  return builder.constant(tensorFromPython(array, spec, 0, asIs));
}

Node convolution(GraphBuilder &builder, Node image, Node filter, const Integers &strides,
                 const Integers &dilations, const Integers &pads, int64_t groups) {
  return builder.convolution(image, filter, {strides, dilations, pads}, groups);
}

Node pool(GraphBuilder &builder, const std::string &kind, Node image, const Integers &size,
          const Integers &strides, const Integers &dilations, const Integers &pads,
          bool includePad) {
  return builder.pool(kind, image, size, {strides, dilations, pads}, includePad);
}

//===--------------------------------------------------------------------------===//
// Operators of ATen
//===--------------------------------------------------------------------------===//

aten::Value valueOf(nb::handle value) {
  if (value.is_none())
    return {};
  if (nb::isinstance<Node>(value))
    return nb::cast<Node>(value);
  if (nb::isinstance<OpenSize>(value))
    return nb::cast<OpenSize>(value);
  if (nb::isinstance<nb::bool_>(value))
    return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value))
    return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value))
    return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value))
    return nb::cast<std::string>(value);
  aten::List list;
  for (nb::handle each : nb::cast<nb::sequence>(value))
    list.push_back(valueOf(each));
  return list;
}

nb::object objectOf(const aten::Value &value) {
  if (const auto *node = value.as<Node>())
    return nb::cast(*node);
  const auto *list = value.as<aten::List>();
  if (!list)
    return nb::none();
  nb::list objects;
  for (const aten::Value &each : *list)
    objects.append(objectOf(each));
  return nb::tuple(objects);
}

using NamedObjects = std::vector<std::pair<std::string, nb::object>>;
using ResultSpec = std::optional<std::tuple<std::string, Sizes, bool>>;

nb::object writeOperator(GraphBuilder &builder, const std::string &name,
                         const NamedObjects &arguments, const std::vector<ResultSpec> &results,
                         bool differentiates) {
  const aten::Write *write = aten::findOperator(name);
  if (!write)
    throw InternalError("no operator of ATen is called " + name);
  aten::Arguments values;
  for (const auto &[argument, value] : arguments)
    values.emplace_back(argument, valueOf(value));
  aten::ResultTypes types;
  for (const ResultSpec &each : results) {
    auto &type = types.emplace_back();
    if (each)
      type =
          aten::ResultType{dtypeNamed(std::get<0>(*each)), std::get<1>(*each), std::get<2>(*each)};
  }
  aten::Call call(builder, name.substr(0, name.find('.')), std::move(values), std::move(types),
                  differentiates);
  return objectOf((*write)(call));
}

} // namespace

void registerGraph(nb::module_ &module) {
  (void)nb::class_<Node>(module, "GraphNode");
  (void)nb::class_<OpenSize>(module, "OpenSize");
  nb::class_<GraphBuilder>(module, "GraphBuilder")
      .def("at", &GraphBuilder::at)
      .def("symbol", &GraphBuilder::symbol, nb::arg("name"), nb::arg("expected") = 0)
      .def("arithmetic", &GraphBuilder::arithmetic)
      .def("input", [](GraphBuilder &b, const std::string &name, const std::string &type,
                       const Sizes &sizes) { return b.input(name, dtypeNamed(type), sizes); })
      .def("output", &GraphBuilder::output)
      .def("constant", &constant)
      .def("scalar", [](GraphBuilder &b, double value,
                        const std::string &type) { return b.scalar(value, dtypeNamed(type)); })
      .def("shape", &GraphBuilder::shape)
      .def("dtype", [](const GraphBuilder &b, Node x) { return std::string(nameOf(b.dtype(x))); })
      .def("elementwise", &GraphBuilder::elementwise)
      .def("cast", [](GraphBuilder &b, Node x,
                      const std::string &type) { return b.cast(x, dtypeNamed(type)); })
      .def("size_as_data",
           [](GraphBuilder &b, const Size &size, const std::string &type) {
             return b.sizeAsData(size, dtypeNamed(type));
           })
      .def("detach", &GraphBuilder::detach)
      .def("reshape", &GraphBuilder::reshape)
      .def("broadcast", &GraphBuilder::broadcast)
      .def("transpose", &GraphBuilder::transpose)
      .def("slice", &GraphBuilder::slice)
      .def("concat", &GraphBuilder::concat)
      .def("pad", &GraphBuilder::pad)
      .def("gather", &GraphBuilder::gather)
      .def("checked_indices", &GraphBuilder::checkedIndices)
      .def("scatter", &GraphBuilder::scatter)
      .def("place", &GraphBuilder::place)
      .def("sort", &GraphBuilder::sort)
      .def("scan", &GraphBuilder::scan)
      .def("targets", &GraphBuilder::targets)
      .def("reduce", &GraphBuilder::reduce)
      .def("softmax", &GraphBuilder::softmax)
      .def("layer_norm", &GraphBuilder::layerNorm, nb::arg(), nb::arg(), nb::arg().none(),
           nb::arg(), nb::arg())
      .def("batch_norm", &GraphBuilder::batchNorm)
      .def("attention", &GraphBuilder::attention, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
           nb::arg(), nb::arg(), nb::arg())
      .def("matrix_product", &GraphBuilder::matrixProduct)
      .def("contract", &GraphBuilder::contract)
      .def("convolution", &convolution)
      .def("pool", &pool)
      .def("aten", &writeOperator)
      .def("finish", [](GraphBuilder &builder, const Settings &settings) {
        return makeModel(builder, settings);
      });
  module.def("has_aten",
             [](const std::string &name) { return aten::findOperator(name) != nullptr; });
  module.def("graph_builder", [](const std::string &name, const std::string &target) {
    Settings settings;
    settings.target = target;
    return makeGraphBuilder(name, settings);
  });
}

} // namespace headrace::python
