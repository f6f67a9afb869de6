// Outputs that stay on a device, handed on by DLPack.
#include "runtime/program/Devices.h"

#include "Arrays.h"
#include "Bindings.h"
#include "Interpreter.h"
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

constexpr int cudaKind = 2; // kDLCUDA

devices::Stream streamOf(uintptr_t handle) { return reinterpret_cast<devices::Stream>(handle); }

// 0 and 1 are the same default stream.
bool sameStream(uintptr_t a, uintptr_t b) {
  return std::max<uintptr_t>(a, 1) == std::max<uintptr_t>(b, 1);
}

// A tensor lent to another library, which uses it in another stream: it is freed after that.
struct Exported {
  Tensor tensor;
  uintptr_t own, user;

  ~Exported() {
    if (sameStream(own, user))
      return;
    try {
      devices::orderStreams(tensor.place().device, streamOf(user), streamOf(own));
    } catch (const std::exception &) { // NOLINT(bugprone-empty-catch): the driver may be gone
    }
  }
};

// `stream` as DLPack has it: -1 asks for no order at all.
nb::object toDlpack(const DeviceArray &array, int64_t stream) {
  uintptr_t user = stream < 0 ? array.stream : static_cast<uintptr_t>(stream);
  int device = array.tensor.place().device;
  if (!sameStream(array.stream, user))
    devices::orderStreams(device, streamOf(array.stream), streamOf(user));
  auto held = std::make_unique<Exported>(Exported{array.tensor, array.stream, user});
  std::vector<size_t> shape(array.tensor.shape().begin(), array.tensor.shape().end());
  nb::capsule owner(held.get(),
                    [](void *memory) noexcept { delete static_cast<Exported *>(memory); });
  void *data = held.release()->tensor.data();
  nb::ndarray<> result(data, shape.size(), shape.data(), owner, nullptr,
                       exchangeType(array.tensor.dtype()), cudaKind, device);
  return nb::cast(result, nb::rv_policy::reference);
}

DeviceArray toDevice(nb::handle value, const std::string &elementType) {
  TensorSpec spec{"array", *parseDType(elementType), {}};
  nb::object fits = nb::cpp_function([](nb::handle array, size_t) { return nb::borrow(array); });
  Tensor tensor = tensorFromPython(value, spec, 0, fits);
  return unlocked([&]() -> DeviceArray {
    return {devices::toDevice(tensor, devices::chosen()), /*stream=*/0};
  });
}

} // namespace

void registerDeviceArrays(nb::module_ &module) {
  nb::class_<DeviceArray>(module, "DeviceArray")
      .def_prop_ro(
          "shape",
          [](const DeviceArray &array) { return nb::tuple(nb::cast(array.tensor.shape())); })
      .def_prop_ro(
          "element_type",
          [](const DeviceArray &array) { return std::string(nameOf(array.tensor.dtype())); })
      .def_prop_ro("device", [](const DeviceArray &array) { return array.tensor.place().device; })
      .def_prop_ro("stream", [](const DeviceArray &array) { return array.stream; })
      .def("dlpack", &toDlpack)
      .def("to_numpy", [](const DeviceArray &array) {
        return tensorToNumpy(
            unlocked([&] { return devices::toHost(array.tensor, streamOf(array.stream)); }));
      });
  module.def("to_device", &toDevice);
}

} // namespace headrace::python
