#include "runtime/cuda/Driver.h"

#include "runtime/system/Error.h"

#include <cstdlib>
#include <dlfcn.h>

namespace headrace::cuda {

namespace {

constexpr int oldestVersion = 12000; // reads PTX 8.0

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// A driver, or why there is none.
struct Loaded {
  Driver driver;
  std::string problem;
};

Loaded load() {
  const char *given = std::getenv("HEADRACE_CUDA_DRIVER");
  const char *name = given && *given ? given : "libcuda.so.1";
  Loaded result;
  Driver &driver = result.driver;
  void *library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); // stays loaded
  if (!library) {
    result.problem = "no NVIDIA driver: " + std::string(name) + " not found";
    return result;
  }
  std::string missing;
  auto find = [&](auto &function, const char *symbol) {
    void *address = ::dlsym(library, symbol);
    if (!address && missing.empty())
      missing = symbol;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define HEADRACE_CUDA_FIND(name, ...) find(driver.name, #name);
  HEADRACE_CUDA_FUNCTIONS(HEADRACE_CUDA_FIND)
#undef HEADRACE_CUDA_FIND
  // It can tell its version before it is initialised, and when nothing else works.
  if (!driver.cuDriverGetVersion || driver.cuDriverGetVersion(&driver.version) != CUDA_SUCCESS)
    result.problem = std::string(name) + " is not an NVIDIA driver";
  else if (driver.version < oldestVersion)
    result.problem = "the NVIDIA driver is too old: expected one for CUDA " +
                     versionText(oldestVersion) + " or newer, got " + versionText(driver.version);
  else if (!missing.empty())
    result.problem =
        "the NVIDIA driver for CUDA " + versionText(driver.version) + " lacks '" + missing + "'";
  else if (Result status = driver.cuInit(0); status == CUDA_ERROR_NO_DEVICE)
    result.problem = "no NVIDIA device: the driver is installed, but finds none";
  else if (status != CUDA_SUCCESS) {
    const char *error = nullptr;
    driver.cuGetErrorName(status, &error);
    result.problem = std::string("the NVIDIA driver does not start: ") + (error ? error : "?");
  }
  return result;
}

const Loaded &loaded() {
  static const Loaded result = load();
  return result;
}

} // namespace

const Driver &driver() {
  const Loaded &result = loaded();
  if (!result.problem.empty())
    throw Error(ErrorKind::Unsupported, result.problem);
  return result.driver;
}

void check(Result result, const std::string &what) {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr;
  loaded().driver.cuGetErrorName(result, &name);
  std::string text = name ? name : "error " + std::to_string(result);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw Error(ErrorKind::Unsupported, what + ": the device has not enough memory (" + text + ")");
  throw Error(ErrorKind::Unsupported, what + ": the device failed with " + text);
}

} // namespace headrace::cuda
