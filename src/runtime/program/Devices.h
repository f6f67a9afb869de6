// Devices with memory of their own, as code outside a device's runtime sees them: numbers, streams
// as their driver hands them out, and tensors. Throws Error if there is no device.
#pragma once

#include "runtime/tensor/Tensor.h"

namespace headrace::devices {

/// A queue of work, in the driver's own words; null is the default one.
using Stream = void *;

/// The device that programs run on by default.
int chosen();

/// A copy on the device; done when it returns.
Tensor toDevice(const Tensor &tensor, int device);
/// A copy in host memory of what the tensor is in the stream's order.
Tensor toHost(const Tensor &tensor, Stream stream);

/// Copies a tensor of host memory into one on a device, in the stream's order; done when it
/// returns.
void copyInto(Tensor &onDevice, const Tensor &tensor, Stream stream);

/// Makes `later` wait for what is in `earlier` now.
void orderStreams(int device, Stream earlier, Stream later);
/// Waits for what is in the stream now.
void waitFor(Stream stream);

} // namespace headrace::devices
