// A program's steps on a device: functions found, sizes bound, launched one by one.
#pragma once

#include "runtime/cuda/Arguments.h"
#include "runtime/cuda/DeviceLibrary.h"
#include "runtime/cuda/Module.h"
#include "runtime/program/Binding.h"

#include <functional>

namespace headrace::cuda {

/// All that a program's sizes decide on a device.
struct DeviceBinding {
  std::vector<int64_t> symbols;
  Binding common;
  std::vector<std::vector<BoundLaunch>> steps; // none for library routines
  size_t launches = 0;                         // in all, routines counted as one
};

/// Where things are in one call.
struct CallMemory {
  std::vector<Address> buffers; // by buffer id
  Address arena = 0;
  Address routineWorkspace = 0;
  Address checkRecords = 0;
  friend bool operator==(const CallMemory &, const CallMemory &) = default;
};

/// A program's steps as launches on a device. Safe from any thread.
class DeviceProgram {
public:
  /// Loads the images; `program` must outlive it. Throws Error.
  DeviceProgram(Device &device, const Program &program, const std::vector<DeviceImage> &images);

  DeviceBinding bind(std::span<const int64_t> symbols) const;

  /// Puts a step's launches into the stream; `launched` hears of each.
  using Launched = std::function<void(const BoundLaunch &)>;
  void launch(size_t step, const DeviceBinding &binding, const CallMemory &memory, Stream stream,
              const Launched &launched = {}) const;

  /// The addresses of a step's operands.
  std::vector<Address> operands(size_t step, const CallMemory &memory) const;
  /// Where the launches of a step may keep what they share.
  static Address workspace(size_t step, const DeviceBinding &binding, const CallMemory &memory) {
    return memory.arena + static_cast<Address>(binding.common.steps[step].workspace);
  }

  bool isRoutine(size_t step) const { return routines[step] != nullptr; }
  bool hasRoutines() const;
  size_t steps() const { return program.steps.size(); }
  /// "2 launches, 40 registers"
  std::vector<std::string> notes() const;

private:
  void prepareRoutines(const DeviceBinding &binding) const;

  Device &device;
  const Program &program;
  std::vector<std::unique_ptr<LoadedImage>> loaded;
  std::vector<const LoadedImage *> stepImages;  // null for library routines
  std::vector<std::vector<Launch>> launches;    // by step
  std::vector<int> checks;                      // by step: which record is its, -1 for none
  std::vector<std::vector<Function>> functions; // by step and launch
  std::vector<DeviceRoutine> routines;          // null for kernels
  std::vector<std::vector<DType>> operandTypes;
};

} // namespace headrace::cuda
