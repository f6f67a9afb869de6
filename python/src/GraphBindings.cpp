// Programs built operator by operator: src/frontend/graph for headrace's front ends in Python.
#include "driver/programs/GraphModel.h"
#include "runtime/system/Error.h"

#include "Arrays.h"
#include "Bindings.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

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
      .def("finish", [](GraphBuilder &builder, const Settings &settings) {
        return makeModel(builder, settings);
      });
  module.def("elementary_functions", [] {
    return std::vector<std::string>{
#define HEADRACE_FUNCTION(Id, name, ...) #name,
#define HEADRACE_STEPS(...)
#include "runtime/scalar/Functions.def"
    };
  });
  module.def("graph_builder", [](const std::string &name, const std::string &target) {
    Settings settings;
    settings.target = target;
    return makeGraphBuilder(name, settings);
  });
}

} // namespace headrace::python
