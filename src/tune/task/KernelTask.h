// A kernel that is tuned: its schedules, what the analytic cost model expects of each, and code for
// measuring. No MLIR header.
#pragma once

#include "driver/Settings.h"

#include "tune/store/TunedRecord.h"
#include "tune/task/Features.h"
#include <filesystem>
#include <functional>
#include <memory>
#include <random>

namespace headrace::tune {

class KernelTask {
public:
  virtual ~KernelTask() = default;

  /// The name in the model of the first of the equal kernels.
  virtual const std::string &name() const = 0;
  /// The fingerprint of the kernel's computation (driver/KernelPrograms.h).
  virtual const std::string &fingerprint() const = 0;
  /// How often the model runs it.
  virtual int uses() const = 0;
  /// The machine that results hold for.
  virtual const std::string &machine() const = 0;
  /// A record of a candidate's result.
  virtual TunedRecord record(const Candidate &candidate, double microseconds,
                             double defaultMicroseconds) const = 0;

  /// The schedule that the compiler proposes.
  virtual Candidate proposed() const = 0;
  /// Legal candidates by chance, each once; fewer if the space is small.
  virtual std::vector<Candidate> sampled(size_t count, uint64_t seed) const = 0;
  /// A candidate that differs in a parameter or two, or in its kind; nothing if chance made none
  /// that is legal.
  virtual std::optional<Candidate> mutated(const Candidate &candidate,
                                           std::mt19937_64 &random) const = 0;
  /// Why the kernel cannot be computed so; empty if it can.
  virtual std::string unsupportedReason(const Candidate &candidate) const = 0;

  /// The prediction of the analytic cost model.
  virtual double predictedMicroseconds(const Candidate &candidate) = 0;
  virtual Features features(const Candidate &candidate) = 0;
  /// No schedule is faster, by the bytes that any moves and the operations of the kernel.
  virtual double lowerBoundMicroseconds() const = 0;

  /// Microseconds that a simulator counts for it; nothing if only a run can show them.
  virtual std::optional<double> countedMicroseconds(const Candidate &candidate) = 0;
  /// Writes the kernel alone, computed so, for a process that has the runtime only. Throws Error if
  /// it cannot be compiled.
  virtual void writePackage(const Candidate &candidate, const std::filesystem::path &path) = 0;
};

/// The kernels of a model, equal ones once.
struct ModelTasks {
  std::vector<std::unique_ptr<KernelTask>> kernels;
  /// Kernels that cannot be tuned, and why: "conv1: ...".
  std::vector<std::string> leftOut;
};

} // namespace headrace::tune
