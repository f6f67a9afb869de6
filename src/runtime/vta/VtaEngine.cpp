#include "runtime/vta/VtaEngine.h"

#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"
#include "runtime/system/Json.h"
#include "runtime/vta/KernelCode.h"
#include "runtime/vta/Simulator.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace headrace::vta {

namespace {

struct Kernel : KernelCode {
  explicit Kernel(KernelCode code)
      : KernelCode(std::move(code)), cycles(cyclesWith(program, CycleConstants())) {}
  int64_t cycles;
};

using Kernels = std::map<std::string, Kernel, std::less<>>;

class Session final : public EngineSession {
public:
  Session(const headrace::Program &program, const Kernels &kernels)
      : program(program), kernels(kernels) {}

  std::shared_ptr<void> allocate(int64_t bytes, const char *what) override {
    return allocateAligned(static_cast<size_t>(bytes), what);
  }
  void copyIn(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void copyOut(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }

  void run(size_t index, const EngineCall &call) override {
    const headrace::Step &step = program.steps[index];
    const KernelCode &kernel = kernels.find(step.symbol)->second;
    Program own = kernel.program;
    auto memoryOf = [&](size_t operand) {
      return call.buffers[static_cast<size_t>(step.operands[operand])];
    };
    for (size_t i = 0; i + 1 < kernel.operands.size(); ++i) {
      std::span<std::byte> bytes = own.bytesOf(own.buffers[kernel.operands[i]]);
      std::memcpy(bytes.data(), memoryOf(i), bytes.size());
    }
    Simulation simulation = simulate(own);
    if (simulation.fault)
      throw Error(ErrorKind::InvalidFile,
                  "step '" + step.name + "' on vta: " + simulation.fault->what());
    const Buffer &result = own.buffers[kernel.operands.back()];
    std::memcpy(memoryOf(kernel.operands.size() - 1), simulation.dram.data() + result.offset,
                result.bytes);
  }
  void finish(const EngineCall &) override {}

private:
  const headrace::Program &program;
  const Kernels &kernels;
};

class LoadedProgram final : public EngineProgram {
public:
  LoadedProgram(const headrace::Program &program, const ProgramCode &code) : program(program) {
    for (const DeviceImage &image : code.images)
      try {
        kernels.try_emplace(image.name, kernelCodeOf(image.text));
      } catch (const Fault &fault) {
        throw Error(ErrorKind::InvalidFile, "kernel '" + image.name + "': " + fault.what());
      } catch (const JsonFault &fault) {
        throw Error(ErrorKind::InvalidFile, "kernel '" + image.name + "': " + fault.what());
      }
    for (const headrace::Step &step : program.steps)
      if (step.kind == headrace::Step::Kind::Kernel && step.engine == vtaEngine().name() &&
          !fits(step))
        failUnsound(program, "step '" + step.name + "' does not fit its kernel");
  }
  std::unique_ptr<EngineSession> begin() const override {
    return std::make_unique<Session>(program, kernels);
  }
  std::optional<SimulatedStep> simulated(size_t step) const override {
    int64_t cycles = kernels.find(program.steps[step].symbol)->second.cycles;
    return SimulatedStep{static_cast<double>(cycles) / megahertz,
                         std::to_string(cycles) + " cycles"};
  }

private:
  bool fits(const headrace::Step &step) const {
    auto kernel = kernels.find(step.symbol);
    if (kernel == kernels.end() || kernel->second.operands.size() != step.operands.size())
      return false;
    const std::vector<Buffer> &buffers = kernel->second.program.buffers;
    return std::ranges::equal(step.operands, kernel->second.operands, [&](int id, size_t buffer) {
      return program.buffers[static_cast<size_t>(id)].bytes ==
             DimExpr::constant(static_cast<int64_t>(buffers[buffer].bytes));
    });
  }

  const headrace::Program &program;
  Kernels kernels;
};

class VtaEngine final : public Engine {
public:
  std::string_view name() const override { return "vta"; }
  std::string whyNot(const ProcessorNeeds &) const override { return ""; }
  std::unique_ptr<const EngineProgram> load(const headrace::Program &program,
                                            const ProgramCode &code) const override {
    return std::make_unique<LoadedProgram>(program, code);
  }
};

} // namespace

const Engine &vtaEngine() {
  static const VtaEngine engine;
  return engine;
}

} // namespace headrace::vta
