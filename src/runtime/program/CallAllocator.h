#pragma once

#include "runtime/tensor/Tensor.h"

#include <functional>
#include <memory>

namespace headrace {

/// Where a call on a device takes its memory from instead of the runtime's own pool. The memory is
/// the program's device's, aligned to 256 bytes, and free for use in the order of the call's
/// stream.
struct CallAllocator {
  std::function<Tensor(size_t output, const Shape &shape)> output;
  /// Let go of when the call returns, before the device has come to it.
  std::function<std::shared_ptr<void>(size_t bytes)> temporary;
};

} // namespace headrace
