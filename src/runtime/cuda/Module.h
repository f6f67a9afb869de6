// Device functions: PTX compiled by the driver, or the machine code of an earlier run, kept on
// disk.
#pragma once

#include "runtime/cuda/Device.h"
#include "runtime/program/Program.h"

#include <memory>

namespace headrace::cuda {

/// The functions of one image. Stays loaded while it lives.
class LoadedImage {
public:
  /// Throws Error with the driver's own words if it rejects the text.
  LoadedImage(Device &device, const DeviceImage &image);
  ~LoadedImage();
  LoadedImage(const LoadedImage &) = delete;

  /// Throws Error if there is none of that name, or the device lacks the shared memory.
  Function find(const std::string &name, int64_t sharedBytes) const;
  /// "128 registers, 16 bytes of them in memory"
  std::string describe(const std::string &name) const;

private:
  Function function(const std::string &name) const;

  Device &device;
  std::string label;
  Module module = nullptr;
};

} // namespace headrace::cuda
