#pragma once

#include "runtime/program/MemoryPlan.h"
#include "runtime/program/ProgramRunner.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace headrace {

/// A program with the code of its kernels, ready to run. Const calls are safe from any thread.
class Executable {
public:
  /// Prepares the steps on the engines that they name. Throws Error if this machine lacks one of
  /// them, or a library routine of the program.
  Executable(Program program, ProgramCode code);
  ~Executable();
  Executable(Executable &&) noexcept;
  Executable &operator=(Executable &&) noexcept;

  const Program &program() const;
  /// Where it runs.
  MemorySpace place() const;

  /// Checks the inputs, runs the steps, returns fresh outputs. Throws Error when an input does
  /// not fit its spec or the sizes are outside the guards. Once warm, a call allocates nothing
  /// but its outputs. A program of a device takes inputs from there and from the host; outputs are
  /// on the host, unless an input is on the device.
  std::vector<Tensor> run(std::span<const Tensor> inputs, ThreadPool &pool = ThreadPool::global(),
                          std::vector<double> *stepMicroseconds = nullptr) const;

  /// Like `run`, but writes the results to those `outputs` that are tensors, which must have the
  /// program's types and shapes. Empty ones become fresh tensors. Throws Error if a tensor does not
  /// fit.
  void runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               ThreadPool &pool = ThreadPool::global()) const;

  /// Like `runInto`, for a program of a device, as part of the work of a stream (CUstream; null is
  /// the default one): inputs and outputs belong to the stream's order, and the call does not wait
  /// for them unless an output is on the host. Empty outputs become tensors on the device, which
  /// are freed in stream order, so that the stream must outlive them. With an allocator all memory
  /// comes from it, and the stream may be one that is being captured.
  void enqueue(std::span<const Tensor> inputs, std::span<Tensor> outputs, void *stream,
               const CallAllocator *allocator = nullptr) const;

  /// Throws the Error of a check (ValueCheck.h) that failed in an earlier call of `enqueue` which
  /// has ended by now; every further call does the same first. Others report their own.
  void raiseDataErrors() const;

  /// The driver's notes on each step on a device: "128 registers"; empty on the host.
  std::vector<std::string> stepNotes() const;

  /// The symbols' values for these inputs; nothing if they are outside the guards. Throws Error
  /// like run when the inputs fit no sizes at all.
  std::optional<std::vector<int64_t>> bind(std::span<const Tensor> inputs) const;

  /// Where the temporaries are stored: offsets by buffer id, -1 for buffers that are not
  /// temporaries.
  MemoryPlan memoryPlan(std::span<const int64_t> symbols) const;

  /// Memory of a call besides inputs, constants and workspaces: temporaries and outputs.
  int64_t peakBytes(std::span<const int64_t> symbols) const;

private:
  std::unique_ptr<ProgramRunner> runner;
};

} // namespace headrace
