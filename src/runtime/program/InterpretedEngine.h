// Engines that interpret their kernels in host memory, step by step: simulators of machines. Such
// an engine is a name and a reader of kernels.
#pragma once

#include "runtime/program/Engine.h"

namespace headrace {

/// One kernel, read and checked. Safe from any thread.
class InterpretedKernel {
public:
  virtual ~InterpretedKernel() = default;
  /// The bytes of the operands of its steps, the result last.
  virtual std::vector<DimExpr> operandBytes() const = 0;
  /// Throws Error, which names the step.
  virtual void run(const Step &step, std::span<void *const> operands,
                   std::span<const int64_t> symbols) const = 0;
  /// Its time on the machine, if that is known.
  virtual std::optional<SimulatedStep> simulated() const { return std::nullopt; }
};

/// An engine that interprets kernels in host memory, given a function that reads them.
class InterpretedEngine final : public Engine {
public:
  /// Throws Error, which names the kernel.
  using Reader = std::unique_ptr<const InterpretedKernel> (*)(const DeviceImage &image);

  InterpretedEngine(std::string_view name, Reader read) : ownName(name), read(read) {}

  std::string_view name() const override { return ownName; }
  std::string unsupportedReason(const ProcessorNeeds &) const override { return ""; }
  std::unique_ptr<const EngineProgram> load(const Program &program,
                                            const ProgramCode &code) const override;

private:
  std::string_view ownName;
  Reader read;
};

} // namespace headrace
