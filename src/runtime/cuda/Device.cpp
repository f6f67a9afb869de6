#include "runtime/cuda/Device.h"

#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>

namespace headrace::cuda {

namespace {

int attribute(DeviceNumber device, int which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device), "asking for the device's properties");
  return value;
}

} // namespace

Device &Device::get(int number) {
  // Never destroyed: the driver goes away before statics do.
  static auto &known = *new std::map<int, std::unique_ptr<Device>>;
  static std::mutex mutex;
  static const unsigned generation = forkGeneration();
  if (generation != forkGeneration())
    throw Error(ErrorKind::Unsupported,
                "device " + std::to_string(number) +
                    ": expected a process that was started, not forked from one that used CUDA; "
                    "with Python's multiprocessing, the start method \"spawn\"");
  CompilerSection section; // no fork while it is locked
  std::lock_guard lock(mutex);
  std::unique_ptr<Device> &device = known[number];
  if (!device)
    device.reset(new Device(number));
  return *device;
}

Device::Device(int number) : index(number) {
  const Driver &api = driver();
  int count = 0;
  check(api.cuDeviceGetCount(&count), "counting devices");
  if (number < 0 || number >= count)
    throw Error(ErrorKind::InvalidArgument, "expected a device below " + std::to_string(count) +
                                                ", got device " + std::to_string(number));
  DeviceNumber device = 0;
  check(api.cuDeviceGet(&device, number), "opening device " + std::to_string(number));
  std::array<char, 256> text{};
  check(api.cuDeviceGetName(text.data(), static_cast<int>(text.size()), device),
        "asking for the device's name");
  label = text.data();
  int major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  // From 9.0 on, part of the instructions is for one architecture alone ("a").
  chip = "sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
  sharedLimit = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  processors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  if (attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0)
    throw Error(ErrorKind::Unsupported, "device " + label + " has no memory pools");
  check(api.cuDevicePrimaryCtxRetain(&primary, device), "opening device " + label);
  Current current(*this);
  PoolProperties properties;
  properties.location = device;
  check(api.cuMemPoolCreate(&memory, &properties), "making a memory pool on " + label);
  // Freed memory stays with the process, so that the next call has it at once.
  uint64_t everything = UINT64_MAX;
  check(api.cuMemPoolSetAttribute(memory, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything),
        "making a memory pool on " + label);
}

Stream Device::takeStream() {
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      Stream stream = idle.back();
      idle.pop_back();
      return stream;
    }
  }
  // Ordered with the default stream, as those expect who never heard of streams.
  Stream stream = nullptr;
  check(driver().cuStreamCreate(&stream, CU_STREAM_DEFAULT), "making a stream");
  return stream;
}

void Device::returnStream(Stream stream) {
  std::lock_guard lock(mutex);
  idle.push_back(stream);
}

Current::Current(const Device &device) {
  check(driver().cuCtxPushCurrent_v2(device.context()), "choosing device " + device.name());
}

Current::~Current() {
  Context context = nullptr;
  driver().cuCtxPopCurrent_v2(&context);
}

WhileRecording::WhileRecording() : mode(CU_STREAM_CAPTURE_MODE_RELAXED) {
  check(driver().cuThreadExchangeStreamCaptureMode(&mode), "asking whether a graph is recorded");
}

WhileRecording::~WhileRecording() { driver().cuThreadExchangeStreamCaptureMode(&mode); }

bool isRecording(Stream stream) {
  // The default streams cannot be recorded; asking about one spoils recordings of others.
  if (reinterpret_cast<uintptr_t>(stream) <= 2)
    return false;
  int status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, nullptr, nullptr),
        "asking whether a graph is recorded");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

int chosenDevice() {
  const char *text = std::getenv("HEADRACE_CUDA_DEVICE");
  if (!text || !*text)
    return 0;
  std::string_view digits(text);
  int number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
    throw Error(ErrorKind::InvalidArgument,
                "HEADRACE_CUDA_DEVICE: expected a device's number, got '" + std::string(text) +
                    "'");
  return number;
}

std::string hostArchitecture() {
  try {
    return Device::get(chosenDevice()).architecture();
  } catch (const Error &) {
    return "";
  }
}

int hostMultiprocessors() {
  try {
    return Device::get(chosenDevice()).multiprocessors();
  } catch (const Error &) {
    return 0;
  }
}

std::string unsupportedReason(std::string_view architecture) {
  try {
    const Device &device = Device::get(chosenDevice());
    auto number = [](std::string_view name) {
      int value = 0;
      if (name.starts_with("sm_"))
        std::from_chars(name.data() + 3, name.data() + name.size(), value);
      return value;
    };
    int wanted = number(architecture), found = number(device.architecture());
    bool runs = architecture.ends_with('a') ? wanted == found : wanted <= found;
    if (wanted > 0 && runs)
      return "";
    return "device " + device.name() + " is " + device.architecture();
  } catch (const Error &error) {
    return error.what();
  }
}

} // namespace headrace::cuda
