#include "runtime/program/Devices.h"

#include "runtime/cuda/Memory.h"

namespace headrace::devices {

static cuda::Stream streamOf(Stream handle) { return static_cast<cuda::Stream>(handle); }

int chosen() { return cuda::chosenDevice(); }

Tensor toDevice(const Tensor &tensor, int device) {
  return cuda::toDevice(cuda::Device::get(device), tensor);
}

Tensor toHost(const Tensor &tensor, Stream stream) {
  return cuda::toHost(tensor, streamOf(stream));
}

void copyInto(Tensor &onDevice, const Tensor &tensor, Stream stream) {
  cuda::copyInto(onDevice, tensor, streamOf(stream));
}

void orderStreams(int device, Stream earlier, Stream later) {
  cuda::orderStreams(cuda::Device::get(device), streamOf(earlier), streamOf(later));
}

void waitFor(Stream stream) { cuda::waitFor(streamOf(stream)); }

} // namespace headrace::devices
