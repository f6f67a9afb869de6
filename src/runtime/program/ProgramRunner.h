// The implementation behind an Executable: the host's, which drives other engines, or that of an
// engine that runs programs of its own (Engine.h).
#pragma once

#include "runtime/program/CallAllocator.h"
#include "runtime/program/Program.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/ThreadPool.h"

#include <memory>
#include <span>

namespace headrace {

/// The code of a program's kernels, for the engines that this machine has.
struct ProgramCode {
  /// One per step, null for a step that is not a kernel of the host; empty if there are none.
  std::vector<KernelFn> kernels;
  /// The code of the kernels of other engines.
  std::vector<DeviceImage> images;
  /// Keeps kernels and constants alive.
  std::shared_ptr<void> memory;
};

/// Any number of threads may call run and enqueue at once.
class ProgramRunner {
public:
  /// Throws InternalError if the program is not sound.
  explicit ProgramRunner(Program program);
  virtual ~ProgramRunner() = default;
  ProgramRunner(const ProgramRunner &) = delete;

  virtual MemorySpace place() const = 0;
  virtual void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
                   std::vector<double> *stepMicroseconds) = 0;
  virtual void enqueue(std::span<const Tensor> inputs, std::span<Tensor> outputs, void *stream,
                       const CallAllocator *allocator);
  virtual void raiseDataErrors() {}
  virtual std::vector<std::string> stepNotes() const { return {}; }

  Program program;

protected:
  /// Throws Error if a file that the program's constants are in was changed.
  void requireFilesUnchanged() const;
  /// Checks the inputs and stores the values of the symbols. Throws Error.
  void bindSymbols(std::span<const Tensor> inputs, std::vector<int64_t> &symbols) const;
  /// Throws Error if a tensor is on a device that the program does not run on.
  void checkPlaces(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  /// Throws Error if the number of outputs differs, or the type or shape of one that is given.
  void checkOutputs(std::span<const Shape> shapes, std::span<const Tensor> outputs) const;
  /// Throws Error if one that is there shares memory with an input or another output: kernels
  /// write results while they still read.
  void checkApart(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;

private:
  std::vector<std::shared_ptr<const MappedFile>> files;
};

/// The host's. Throws Error if it lacks a routine or an engine of the program.
std::unique_ptr<ProgramRunner> makeHostRunner(Program program, ProgramCode code);

} // namespace headrace
