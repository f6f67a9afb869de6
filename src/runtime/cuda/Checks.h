// Checks of data (ValueCheck.h) on a device. A launch looks at the elements; its finding goes to
// host memory that the device can write, so that a run without a fault costs no copy and no wait.
// The record stays until the host has seen it.
#pragma once

#include "runtime/cuda/DeviceProgram.h"
#include "runtime/program/ValueCheck.h"

namespace headrace::cuda {

/// The functions that `checkLaunch` names for the steps of a program; none if it has no checks.
inline constexpr const char *checkImageName = "headrace_check";
std::optional<DeviceImage> checkImage(const Program &program);

/// The launch of a check step, over its operand and, as a second one, its record.
Launch checkLaunch(const Step &step);

/// The finding of one check: of all elements that are not allowed, the first. The device writes it.
struct CheckRecord {
  static constexpr uint64_t nothing = ~uint64_t{0};
  uint64_t position = nothing;
  int64_t value = 0, low = 0, high = 0, count = 0;
  uint32_t lock = 0; // of the blocks that found something
  uint32_t unused = 0;
};

/// The records of a program's checks, for one call at a time.
class CheckRecords {
public:
  /// Throws Error if there is no memory for them.
  CheckRecords(const Device &device, const Program &program);
  ~CheckRecords();
  CheckRecords(const CheckRecords &) = delete;

  /// The address of the first record; 0 if the program has no checks.
  Address address() const { return reinterpret_cast<Address>(records); }

  /// Throws Error for the first step that found something, and forgets all; does not wait for
  /// what has not ended. `binding` has the sizes of the last call.
  void raise(const DeviceBinding &binding);

private:
  const Device &device;
  const Program &program;
  std::vector<size_t> steps; // by record
  CheckRecord *records = nullptr;
};

} // namespace headrace::cuda
