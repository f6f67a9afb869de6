// Loading of cuBLAS and cuDNN: libraries of NVIDIA's that may be missing, found at first use, with
// a handle for each device.
#pragma once

#include "runtime/cuda/DeviceLibrary.h"

#include <dlfcn.h>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

namespace headrace::cuda {

/// A library of NVIDIA's, or nothing if it is not installed.
class VendorLibrary {
public:
  /// The first of these files that can be loaded; it stays loaded.
  VendorLibrary(const char *name, std::initializer_list<const char *> files);

  template <class Function> void find(Function &function, const char *symbol) {
    function = reinterpret_cast<Function>(library ? ::dlsym(library, symbol) : nullptr);
    complete &= function != nullptr;
  }
  /// Whether all functions were found.
  bool available() const { return complete; }

  /// Throws Error naming the library and the step if a call did not return 0.
  void check(int status, const Step &step) const;

private:
  const char *name;
  void *library = nullptr;
  bool complete = false;
};

/// Handles of a library, one a device. Each is used by one thread at a time, and never destroyed,
/// as the driver goes first.
class DeviceHandles {
public:
  using Handle = void *;

  /// Calls `use(handle)`, after `create(&handle)` if the device has none yet.
  template <class Create, class Use> void with(const Device &device, Create create, Use use) {
    std::lock_guard lock(mutex);
    Handle &handle = handles[device.number()];
    if (!handle)
      create(&handle);
    use(handle);
  }

private:
  std::mutex mutex;
  std::map<int, Handle> handles;
};

/// The numbers by which a library knows the types it computes with.
struct TypeCodes {
  int f32, f16, bf16;
  int of(DType type, const Step &step) const;
};

/// A size as these libraries take it. Throws Error beyond 2^31.
int librarySize(int64_t value, const Step &step);

} // namespace headrace::cuda
