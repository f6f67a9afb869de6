// How long candidates take. An interface: measurements may come from this machine, from a
// simulator, or from other machines.
#pragma once

#include "tune/task/KernelTask.h"
#include <span>
#include <string>

namespace headrace::tune {

struct Measurement {
  enum class Status { Measured, Crashed, TimedOut, Wrong, NotCompiled };
  Status status = Status::NotCompiled;
  /// Why there is no time: "SIGSEGV", "output 0: element 5: ...".
  std::string reason;
  /// The times of a call with data in cache and with empty caches; 0 if only one was measured.
  double microseconds = 0, coldMicroseconds = 0;
  /// The time of the compiler's own schedule, measured in turns with the candidate.
  double defaultMicroseconds = 0, defaultColdMicroseconds = 0;

  bool isMeasured() const { return status == Status::Measured; }
  /// The time in relation to the default's: the geometric mean over warm and cold caches.
  double ratio() const;
};
std::string_view nameOf(Measurement::Status status);
std::optional<Measurement::Status> statusNamed(std::string_view name);

class Measurer {
public:
  virtual ~Measurer() = default;
  /// Measures candidates of a kernel; one that cannot be measured says why. Throws Error if nothing
  /// can be measured at all, and Interrupted.
  virtual std::vector<Measurement> measure(KernelTask &task, std::span<const Candidate> batch) = 0;
};

struct MeasureOptions {
  /// How long a candidate and the default schedule take turns.
  double seconds = 0.12;
  /// A process that has not answered by then is ended.
  double limit = 10;
  /// Of the inputs.
  uint64_t seed = 1;
};

/// Measures in a process of its own on this machine (WorkerProcess.h).
std::unique_ptr<Measurer> measureInProcess(const MeasureOptions &options);
/// Asks the target's simulator.
std::unique_ptr<Measurer> countBySimulator();

} // namespace headrace::tune
