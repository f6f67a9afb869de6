#include "runtime/cuda/Memory.h"

#include "runtime/system/Error.h"

#include <utility>

namespace headrace::cuda {

Memory::Memory(Device &device, size_t bytes, Stream stream, const std::string &what)
    : device(&device), size(bytes), order(stream) {
  if (bytes == 0)
    return;
  Current current(device);
  const Driver &api = driver();
  Result result = api.cuMemAllocFromPoolAsync(&start, bytes, device.pool(), stream);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) { // what is kept for later may be in the way
    api.cuStreamSynchronize(stream);
    api.cuMemPoolTrimTo(device.pool(), 0);
    result = api.cuMemAllocFromPoolAsync(&start, bytes, device.pool(), stream);
  }
  check(result,
        "allocating " + std::to_string(bytes) + " bytes for " + what + " on " + device.name());
}

Memory::~Memory() {
  if (start == 0)
    return;
  // At the end of the process the driver may be gone; then so is the memory.
  try {
    Current current(*device);
    driver().cuMemFreeAsync(start, order);
  } catch (const Error &) { // NOLINT(bugprone-empty-catch)
  }
}

Memory::Memory(Memory &&other) noexcept { *this = std::move(other); }

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(device, other.device);
  std::swap(start, other.start);
  std::swap(size, other.size);
  std::swap(order, other.order);
  return *this;
}

Tensor allocateTensor(Device &device, DType type, Shape shape, Stream stream,
                      const std::string &what) {
  Tensor described = Tensor::borrow(type, shape, nullptr, nullptr);
  auto memory = std::make_shared<Memory>(device, described.bytes(), stream, what);
  auto *address = reinterpret_cast<const void *>(memory->address());
  return Tensor::borrow(type, std::move(shape), address, std::move(memory), {device.number()});
}

void orderStreams(Device &device, Stream earlier, Stream later) {
  if (earlier == later)
    return;
  Current current(device);
  const char *what = "ordering streams";
  Event event = nullptr;
  check(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), what);
  Result result = driver().cuEventRecord(event, earlier);
  if (result == CUDA_SUCCESS)
    result = driver().cuStreamWaitEvent(later, event, 0);
  driver().cuEventDestroy_v2(event); // takes effect when it has happened
  check(result, what);
}

void waitFor(Stream stream) {
  Current current(Device::get(chosenDevice()));
  check(driver().cuStreamSynchronize(stream), "waiting for the device");
}

Tensor toHost(const Tensor &tensor, Stream stream) {
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
  if (tensor.bytes() == 0)
    return copy;
  Current current(Device::get(tensor.place().device));
  check(driver().cuMemcpyDtoHAsync_v2(copy.data(), reinterpret_cast<Address>(tensor.data()),
                                      tensor.bytes(), stream),
        "copying a tensor from the device");
  check(driver().cuStreamSynchronize(stream), "copying a tensor from the device");
  return copy;
}

void copyInto(Tensor &onDevice, const Tensor &tensor, Stream stream) {
  if (tensor.bytes() == 0)
    return;
  Current current(Device::get(onDevice.place().device));
  check(driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<Address>(onDevice.data()), tensor.data(),
                                      tensor.bytes(), stream),
        "copying a tensor to the device");
  check(driver().cuStreamSynchronize(stream), "copying a tensor to the device");
}

Tensor toDevice(Device &device, const Tensor &tensor) {
  Current current(device);
  Tensor copy = allocateTensor(device, tensor.dtype(), tensor.shape(), nullptr, "a tensor");
  if (tensor.bytes() == 0)
    return copy;
  check(driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<Address>(copy.data()), tensor.data(),
                                      tensor.bytes(), nullptr),
        "copying a tensor to the device");
  check(driver().cuStreamSynchronize(nullptr), "copying a tensor to the device");
  return copy;
}

MemorySpace MemorySpaceFinder::find(const void *address) const {
  auto where = reinterpret_cast<Address>(address);
  unsigned type = 0;
  // Memory the driver does not know is the host's own.
  if (driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, where) !=
          CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE)
    return {};
  MemorySpace place;
  check(driver().cuPointerGetAttribute(&place.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, where),
        "asking where memory is");
  return place;
}

} // namespace headrace::cuda
