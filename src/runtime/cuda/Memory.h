// Memory of a device, from its stream-ordered pool.
#pragma once

#include "runtime/cuda/Device.h"
#include "runtime/tensor/Tensor.h"

namespace headrace::cuda {

/// Owned memory, freed in the order of the stream it was allocated in. `what` names it in errors.
class Memory {
public:
  Memory() = default;
  Memory(Device &device, size_t bytes, Stream stream, const std::string &what);
  ~Memory();
  Memory(Memory &&other) noexcept;
  Memory &operator=(Memory &&other) noexcept;

  Address address() const { return start; }
  size_t bytes() const { return size; }

private:
  Device *device = nullptr;
  Address start = 0;
  size_t size = 0;
  Stream order = nullptr;
};

/// A fresh tensor on the device, usable in the stream's order.
Tensor allocateTensor(Device &device, DType type, Shape shape, Stream stream,
                      const std::string &what);

/// Makes `later` wait for what is in `earlier` now.
void orderStreams(Device &device, Stream earlier, Stream later);

/// Waits for what is in the stream now.
void waitFor(Stream stream);

/// A copy in host memory of what the tensor is in the stream's order.
Tensor toHost(const Tensor &tensor, Stream stream);
/// Copies a tensor of host memory into one of a device, in the stream's order; done when it
/// returns.
void copyInto(Tensor &onDevice, const Tensor &tensor, Stream stream);
/// A copy on the device; done when it returns.
Tensor toDevice(Device &device, const Tensor &tensor);

/// Tells whose memory addresses are in. Throws Error if there is no driver.
class MemorySpaceFinder {
public:
  MemorySpaceFinder() : current(Device::get(chosenDevice())) {}
  MemorySpace find(const void *address) const;

private:
  Current current;
};

} // namespace headrace::cuda
