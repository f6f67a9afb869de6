#include "runtime/cuda/Module.h"

#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"

#include <algorithm>
#include <array>

namespace headrace::cuda {

namespace {

/// The first line of the driver's log that says something.
std::string firstLine(const std::string &log) {
  size_t begin = log.find_first_not_of(" \n\r\t");
  if (begin == std::string::npos)
    return "no reason given";
  return log.substr(begin, log.find_first_of("\n\r", begin) - begin);
}

/// PTX to the device's own code.
std::string compile(const DeviceImage &image) {
  const Driver &api = driver();
  std::string log(8192, '\0');
  std::array<int, 2> options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void *, 2> values = {log.data(), reinterpret_cast<void *>(log.size())};
  Link link = nullptr;
  check(api.cuLinkCreate_v2(static_cast<unsigned>(options.size()), options.data(), values.data(),
                            &link),
        "compiling kernel '" + image.name + "'");
  struct Guard {
    Link link;
    ~Guard() { driver().cuLinkDestroy(link); }
  } guard{link};
  void *code = nullptr;
  size_t bytes = 0;
  // The text with its end, which std::string keeps.
  Result result =
      api.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, const_cast<char *>(image.text.c_str()),
                           image.text.size() + 1, image.name.c_str(), 0, nullptr, nullptr);
  if (result == CUDA_SUCCESS)
    result = api.cuLinkComplete(link, &code, &bytes);
  if (result != CUDA_SUCCESS)
    check(result, "compiling kernel '" + image.name + "' (" +
                      firstLine(log.substr(0, log.find('\0'))) + ")");
  return {static_cast<const char *>(code), bytes};
}

} // namespace

LoadedImage::LoadedImage(Device &device, const DeviceImage &image)
    : device(device), label(image.name) {
  Current current(device);
  FileCache cache = FileCache::user("cubin");
  std::string key = FileCache::key(
      {image.text, device.name(), device.architecture(), std::to_string(driver().version)});
  std::optional<std::string> kept = cache.find(key);
  // Cached code that the driver rejects all the same is compiled again.
  if (kept && driver().cuModuleLoadData(&module, kept->data()) == CUDA_SUCCESS)
    return;
  std::string code = compile(image);
  check(driver().cuModuleLoadData(&module, code.data()), "loading kernel '" + label + "'");
  cache.store(key, code);
}

LoadedImage::~LoadedImage() {
  try {
    Current current(device);
    driver().cuModuleUnload(module);
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): the driver may be gone
  }
}

Function LoadedImage::function(const std::string &name) const {
  Function found = nullptr;
  check(driver().cuModuleGetFunction(&found, module, name.c_str()),
        "looking for '" + name + "' in kernel '" + label + "'");
  return found;
}

Function LoadedImage::find(const std::string &name, int64_t sharedBytes) const {
  Current current(device);
  Function found = function(name);
  if (sharedBytes > device.sharedBytesLimit())
    throw Error(ErrorKind::Unsupported, "kernel '" + name + "': expected " +
                                            std::to_string(sharedBytes) +
                                            " bytes of shared memory, device " + device.name() +
                                            " has " + std::to_string(device.sharedBytesLimit()));
  constexpr int64_t withoutAsking = 48 * 1024;
  if (sharedBytes > withoutAsking)
    check(driver().cuFuncSetAttribute(found, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(sharedBytes)),
          "reserving shared memory for '" + name + "'");
  return found;
}

std::string LoadedImage::describe(const std::string &name) const {
  Current current(device);
  Function found = function(name);
  int registers = 0, local = 0;
  check(driver().cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, found),
        "asking for the registers of '" + name + "'");
  check(driver().cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, found),
        "asking for the registers of '" + name + "'");
  std::string text = std::to_string(registers) + " registers";
  return local == 0 ? text : text + ", spills " + std::to_string(local) + " bytes";
}

} // namespace headrace::cuda
