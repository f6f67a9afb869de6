#include "runtime/program/InterpretedEngine.h"

#include "runtime/system/AlignedMemory.h"

#include <cstring>
#include <map>

namespace headrace {

namespace {

using Kernels = std::map<std::string, std::unique_ptr<const InterpretedKernel>, std::less<>>;

class Session final : public EngineSession {
public:
  Session(const Program &program, const Kernels &kernels) : program(program), kernels(kernels) {}

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
    const Step &step = program.steps[index];
    std::vector<void *> operands;
    for (int id : step.operands)
      operands.push_back(call.buffers[static_cast<size_t>(id)]);
    kernels.find(step.symbol)->second->run(step, operands, call.binding.symbols);
  }
  void finish(const EngineCall &) override {}

private:
  const Program &program;
  const Kernels &kernels;
};

class LoadedProgram final : public EngineProgram {
public:
  LoadedProgram(const Program &program, Kernels read, std::string_view engine)
      : program(program), kernels(std::move(read)) {
    for (const Step &step : program.steps)
      if (step.kind == Step::Kind::Kernel && step.engine == engine && !fits(step))
        failUnsound(program, "step '" + step.name + "' does not fit its kernel");
  }
  std::unique_ptr<EngineSession> begin() const override {
    return std::make_unique<Session>(program, kernels);
  }
  std::optional<SimulatedStep> simulated(size_t step) const override {
    return kernels.find(program.steps[step].symbol)->second->simulated();
  }

private:
  bool fits(const Step &step) const {
    auto kernel = kernels.find(step.symbol);
    if (kernel == kernels.end())
      return false;
    std::vector<DimExpr> bytes;
    for (int id : step.operands)
      bytes.push_back(program.buffers[static_cast<size_t>(id)].bytes);
    return kernel->second->operandBytes() == bytes;
  }

  const Program &program;
  Kernels kernels;
};

} // namespace

std::unique_ptr<const EngineProgram> InterpretedEngine::load(const Program &program,
                                                             const ProgramCode &code) const {
  Kernels kernels;
  for (const DeviceImage &image : code.images)
    kernels.try_emplace(image.name, read(image));
  return std::make_unique<LoadedProgram>(program, std::move(kernels), ownName);
}

} // namespace headrace
