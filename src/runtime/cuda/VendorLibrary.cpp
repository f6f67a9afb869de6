#include "runtime/cuda/VendorLibrary.h"

#include "runtime/system/Error.h"

#include <climits>

namespace headrace::cuda {

VendorLibrary::VendorLibrary(const char *name, std::initializer_list<const char *> files)
    : name(name) {
  for (const char *file : files)
    if (!library)
      library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  complete = library != nullptr;
}

void VendorLibrary::check(int status, const Step &step) const {
  if (status != 0)
    throw Error(ErrorKind::Unsupported, "step '" + step.name + "': " + name +
                                            " failed with status " + std::to_string(status));
}

int TypeCodes::of(DType type, const Step &step) const {
  switch (type) {
  case DType::F32:
    return f32;
  case DType::F16:
    return f16;
  case DType::BF16:
    return bf16;
  default:
    throw InternalError("step '" + step.name + "': no library computes with this type");
  }
}

int librarySize(int64_t value, const Step &step) {
  if (value < 0 || value > INT_MAX)
    throw Error(ErrorKind::Unsupported, "step '" + step.name +
                                            "': expected sizes below 2^31, got " +
                                            std::to_string(value));
  return static_cast<int>(value);
}

} // namespace headrace::cuda
