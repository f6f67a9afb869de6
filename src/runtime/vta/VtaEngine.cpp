#include "runtime/vta/VtaEngine.h"

#include "runtime/program/InterpretedEngine.h"
#include "runtime/system/Error.h"
#include "runtime/system/Json.h"
#include "runtime/vta/KernelCode.h"
#include "runtime/vta/Simulator.h"

#include <cstring>

namespace headrace::vta {

namespace {

class Kernel final : public InterpretedKernel {
public:
  explicit Kernel(KernelCode given)
      : code(std::move(given)), cycles(cyclesWith(code.program, CycleConstants())) {}

  std::vector<DimExpr> operandBytes() const override {
    std::vector<DimExpr> bytes;
    for (size_t operand : code.operands)
      bytes.push_back(DimExpr::constant(static_cast<int64_t>(code.program.buffers[operand].bytes)));
    return bytes;
  }

  void run(const headrace::Step &step, std::span<void *const> operands,
           std::span<const int64_t>) const override {
    Program own = code.program;
    for (size_t i = 0; i + 1 < operands.size(); ++i) {
      std::span<std::byte> bytes = own.bytesOf(own.buffers[code.operands[i]]);
      std::memcpy(bytes.data(), operands[i], bytes.size());
    }
    Simulation simulation = simulate(own);
    if (simulation.fault)
      throw Error(ErrorKind::InvalidFile,
                  "step '" + step.name + "' on vta: " + simulation.fault->what());
    const Buffer &result = own.buffers[code.operands.back()];
    std::memcpy(operands.back(), simulation.dram.data() + result.offset, result.bytes);
  }

  std::optional<SimulatedStep> simulated() const override {
    return SimulatedStep{static_cast<double>(cycles) / megahertz,
                         std::to_string(cycles) + " cycles"};
  }

private:
  KernelCode code;
  int64_t cycles;
};

std::unique_ptr<const InterpretedKernel> read(const DeviceImage &image) {
  auto fail = [&](const char *reason) {
    throw Error(ErrorKind::InvalidFile, "kernel '" + image.name + "': " + reason);
  };
  try {
    return std::make_unique<Kernel>(kernelCodeOf(image.text));
  } catch (const Fault &fault) {
    fail(fault.what());
  } catch (const JsonFault &fault) {
    fail(fault.what());
  }
  return nullptr;
}

} // namespace

const Engine &vtaEngine() {
  static const InterpretedEngine engine("vta", read);
  return engine;
}

} // namespace headrace::vta
