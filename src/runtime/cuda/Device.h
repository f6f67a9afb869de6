// A device of NVIDIA's: its context, its memory pool, streams that live as long as the process.
#pragma once

#include "runtime/cuda/Driver.h"

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::cuda {

/// A CUDA device: its context, memory and streams.
class Device {
public:
  /// The device of that number; made once and kept. Throws Error if there is none.
  static Device &get(int number);

  int number() const { return index; }
  const std::string &name() const { return label; }
  /// "sm_90a": what code for exactly this device is called.
  const std::string &architecture() const { return chip; }
  Context context() const { return primary; }
  Pool pool() const { return memory; }
  int sharedBytesLimit() const { return sharedLimit; }
  int multiprocessors() const { return processors; }

  /// A stream of the caller's own, to be returned: tensors may be freed in its order long after.
  Stream takeStream();
  void returnStream(Stream stream);

private:
  explicit Device(int number);

  int index;
  std::string label, chip;
  Context primary = nullptr;
  Pool memory = nullptr;
  int sharedLimit = 0, processors = 0;
  std::mutex mutex; // for what follows
  std::vector<Stream> idle;
};

/// Makes the device's context the thread's own while it lives.
class Current {
public:
  explicit Current(const Device &device);
  ~Current();
  Current(const Current &) = delete;
};

/// Lets the thread load code and allocate memory while a stream is captured, which the driver
/// rejects otherwise: this work is done at once and does not become part of the recording.
class WhileRecording {
public:
  WhileRecording();
  ~WhileRecording();
  WhileRecording(const WhileRecording &) = delete;

private:
  int mode;
};

/// Whether work put into the stream is recorded as a graph rather than done.
bool isRecording(Stream stream);

/// The number of the device that programs run on: HEADRACE_CUDA_DEVICE, else 0.
int chosenDevice();

/// The architecture of the chosen device; empty if there is no driver or no device.
std::string hostArchitecture();
/// The number of multiprocessors of the chosen device; 0 if there is no driver or no device.
int hostMultiprocessors();

/// Why code for `architecture` ("sm_80", "sm_90a") does not run on the chosen device; empty if
/// it does. Code for sm_N runs on N and later, code for sm_Na on N alone.
std::string unsupportedReason(std::string_view architecture);

} // namespace headrace::cuda
