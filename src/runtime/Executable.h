#pragma once

#include "runtime/MemoryPlan.h"
#include "runtime/Program.h"
#include "runtime/ThreadPool.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace headrace {

/// A program with the code of its kernels, ready to run. Const calls are safe from any thread.
class Executable {
public:
  /// One kernel per step, null for library steps; `code` keeps the kernels' memory alive. Throws
  /// Error when a library routine of the program is not on this machine.
  Executable(Program program, std::vector<KernelFn> kernels, std::shared_ptr<void> code);
  ~Executable();
  Executable(Executable &&) noexcept;
  Executable &operator=(Executable &&) noexcept;

  const Program &program() const;

  /// Checks the inputs, runs the steps, returns fresh outputs. Throws Error when an input does
  /// not fit its spec or the sizes are outside the guards. Once warm, a call allocates nothing
  /// but its outputs.
  std::vector<Tensor> run(std::span<const Tensor> inputs, ThreadPool &pool = ThreadPool::global(),
                          std::vector<double> *stepMicroseconds = nullptr) const;

  /// The same, with results in `outputs` where those are tensors: of the types and shapes of the
  /// program, in the caller's memory. Empty ones become fresh tensors. Throws Error where a tensor
  /// does not fit.
  void runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               ThreadPool &pool = ThreadPool::global()) const;

  /// The symbols' values for these inputs; nothing if they are outside the guards. Throws Error
  /// like run when the inputs fit no sizes at all.
  std::optional<std::vector<int64_t>> bind(std::span<const Tensor> inputs) const;

  /// Where the temporaries lie; offsets are by buffer id, -1 for buffers that are no temporaries.
  MemoryPlan memoryPlan(std::span<const int64_t> symbols) const;

  /// What a call holds besides inputs, constants and workspaces: temporaries and outputs.
  int64_t peakBytes(std::span<const int64_t> symbols) const;

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace headrace
