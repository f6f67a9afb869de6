// Programs that are a device's alone are run by CudaRunner. If the host has steps, too, it
// drives a session: launches go into a stream one by one.
#include "runtime/cuda/CudaEngine.h"

#include "runtime/cuda/Checks.h"
#include "runtime/cuda/Memory.h"
#include "runtime/program/BindingCache.h"

#include <algorithm>

namespace headrace::cuda {

namespace {

Address addressOf(const void *pointer) { return reinterpret_cast<Address>(pointer); }

class CudaProgram final : public EngineProgram {
public:
  CudaProgram(const Program &program, const std::vector<DeviceImage> &images)
      : program(program), device(Device::get(chosenDevice())), steps(device, program, images) {}

  std::unique_ptr<EngineSession> begin() const override;

  const Program &program;
  Device &device;
  const DeviceProgram steps;
  mutable BindingCache<DeviceBinding> bindings;
};

class CudaSession final : public EngineSession {
public:
  explicit CudaSession(const CudaProgram &program)
      : program(program), checks(program.device, program.program) {
    Current current(program.device);
    stream = program.device.takeStream();
  }
  ~CudaSession() override { program.device.returnStream(stream); }

  std::shared_ptr<void> allocate(int64_t bytes, const char *what) override {
    Current current(program.device);
    auto memory =
        std::make_shared<Memory>(program.device, static_cast<size_t>(bytes), stream, what);
    check(driver().cuStreamSynchronize(stream), "allocating memory");
    return {memory, reinterpret_cast<void *>(memory->address())};
  }

  void copyIn(void *to, const void *from, int64_t bytes) override {
    Current current(program.device);
    check(driver().cuMemcpyHtoDAsync_v2(addressOf(to), from, static_cast<size_t>(bytes), stream),
          "copying to the device");
    check(driver().cuStreamSynchronize(stream), "copying to the device");
  }

  void copyOut(void *to, const void *from, int64_t bytes) override {
    Current current(program.device);
    check(driver().cuMemcpyDtoHAsync_v2(to, addressOf(from), static_cast<size_t>(bytes), stream),
          "copying from the device");
    check(driver().cuStreamSynchronize(stream), "copying from the device");
  }

  void run(size_t step, const EngineCall &call) override {
    Current current(program.device);
    bind(call);
    program.steps.launch(step, *binding, memory, stream);
  }

  void finish(const EngineCall &call) override {
    Current current(program.device);
    bind(call);
    check(driver().cuStreamSynchronize(stream), "running program '" + program.program.name + "'");
    checks.raise(*binding);
  }

private:
  void bind(const EngineCall &call) {
    if (!binding || !std::ranges::equal(binding->symbols, call.binding.symbols))
      binding = program.bindings.find(call.binding.symbols,
                                      [&] { return program.steps.bind(call.binding.symbols); });
    memory.buffers.clear();
    for (const void *buffer : call.buffers)
      memory.buffers.push_back(addressOf(buffer));
    memory.arena = addressOf(call.arena);
    memory.checkRecords = checks.address();
    if (program.steps.hasRoutines() && !routineWorkspace)
      routineWorkspace = allocate(routineWorkspaceBytes, "libraries");
    memory.routineWorkspace = addressOf(routineWorkspace.get());
  }

  const CudaProgram &program;
  Stream stream = nullptr;
  CheckRecords checks;
  std::shared_ptr<const DeviceBinding> binding;
  CallMemory memory;
  std::shared_ptr<void> routineWorkspace;
};

std::unique_ptr<EngineSession> CudaProgram::begin() const {
  return std::make_unique<CudaSession>(*this);
}

class CudaEngine final : public Engine {
public:
  std::string_view name() const override { return "cuda"; }
  std::string unsupportedReason(const ProcessorNeeds &needs) const override {
    return cuda::unsupportedReason(needs.level);
  }
  std::unique_ptr<const EngineProgram> load(const Program &program,
                                            const ProgramCode &code) const override {
    WhileRecording permitted;
    return std::make_unique<CudaProgram>(program, code.images);
  }
  bool runsAlone() const override { return true; }
  std::unique_ptr<ProgramRunner> makeRunner(Program program, ProgramCode code) const override {
    return makeRunnerOfDevice(std::move(program), code.images);
  }
  MemorySpace place() const override { return {chosenDevice()}; }
  MemorySpace placeOf(const void *address) const override {
    return MemorySpaceFinder().find(address);
  }
};

} // namespace

const Engine &engine() {
  static const CudaEngine one;
  return one;
}

} // namespace headrace::cuda
