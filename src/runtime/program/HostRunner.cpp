// Programs of the host: kernels are functions of the process, temporaries lie in an arena.
#include "runtime/library/Library.h"
#include "runtime/program/Binding.h"
#include "runtime/program/BindingCache.h"
#include "runtime/program/IdlePool.h"
#include "runtime/program/ProgramRunner.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Sanitized.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace headrace {

namespace {

// Memory that grows to the largest request and is reused.
class GrowingMemory {
public:
  std::byte *reserve(int64_t bytes, const char *what) {
    if (!memory || bytes > capacity) {
      memory.reset(); // first, so that old and new need not fit together
      memory = allocateAligned(static_cast<size_t>(bytes), what);
      capacity = bytes;
    }
    return memory.get();
  }

private:
  AlignedMemory memory;
  int64_t capacity = 0;
};

// Buffers that one call needs to itself; handed on from call to call.
struct Scratch {
  std::vector<int64_t> symbols;
  std::vector<void *> buffers;  // by buffer id
  std::vector<void *> operands; // of the step at hand
  GrowingMemory arena, workspace;
  std::vector<AlignedMemory> apart; // in place of the arena where accesses are checked
  std::vector<Tensor> alignedInputs;
};

Tensor allocateOutput(const TensorSpec &spec, const Shape &shape) {
  try {
    return Tensor::allocate(spec.dtype, shape);
  } catch (const Error &error) {
    throw Error(error.kind(),
                "output '" + spec.name + "' of " + shapeString(shape) + ": " + error.what());
  }
}

constexpr const char *kTemporaries = "intermediate results";

// Names the largest temporary where there is no memory for all of them.
std::byte *reserveArena(Scratch &scratch, const Program &program, const Binding &binding) {
  try {
    return scratch.arena.reserve(binding.plan.totalBytes, kTemporaries);
  } catch (const Error &error) {
    int64_t most = 0;
    std::string step;
    for (const BufferInfo &buffer : program.buffers) {
      if (buffer.kind != BufferInfo::Kind::Temporary)
        continue;
      int64_t bytes = buffer.bytes.evaluate(binding.symbols);
      if (bytes > most) {
        most = bytes;
        step = program.steps[buffer.firstStep].name;
      }
    }
    throw Error(error.kind(), std::string(error.what()) + "; " + std::to_string(most) +
                                  " of them hold a result of '" + step + "'");
  }
}

bool isElementAligned(const Tensor &tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data()) % sizeOf(tensor.dtype()) == 0;
}

// Kernels load whole elements; memory out of a file may start anywhere.
Tensor elementAligned(const Tensor &tensor) {
  if (isElementAligned(tensor))
    return tensor;
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0)
    std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

// An empty tensor may have no memory, but kernels form addresses from its pointer.
void *pointerTo(const Tensor &tensor) {
  alignas(memoryAlignment) static std::byte nothing[memoryAlignment];
  return tensor.data() ? const_cast<void *>(tensor.data()) : nothing;
}

class HostRunner final : public ProgramRunner {
public:
  HostRunner(Program givenProgram, std::vector<KernelFn> givenKernels,
             std::shared_ptr<void> givenCode);

  Place place() const override { return {}; }
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
           std::vector<double> *stepMicroseconds) override;

private:
  void prepareOutputs(const Binding &binding, std::span<Tensor> outputs) const;
  void resolveBuffers(Scratch &scratch, const Binding &binding, std::span<const Tensor> inputs,
                      std::span<Tensor> outputs) const;
  void runStep(size_t index, const Binding::StepFacts &facts, Scratch &scratch,
               std::byte *workspace, ThreadPool &pool) const;

  std::vector<KernelFn> kernels;
  std::vector<LibraryFn> routines; // null for kernels
  std::shared_ptr<void> code;
  int64_t workspaceStride = 0;

  BindingCache<Binding> bindings;
  IdlePool<Scratch> scratches;
};

HostRunner::HostRunner(Program givenProgram, std::vector<KernelFn> givenKernels,
                       std::shared_ptr<void> givenCode)
    : ProgramRunner(std::move(givenProgram)), kernels(std::move(givenKernels)),
      code(std::move(givenCode)) {
  if (kernels.size() != program.steps.size())
    throw InternalError("program '" + program.name + "' has " +
                        std::to_string(program.steps.size()) + " steps but " +
                        std::to_string(kernels.size()) + " kernels");
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Step &step = program.steps[i];
    bool isKernel = step.kind == Step::Kind::Kernel;
    if (isKernel != (kernels[i] != nullptr))
      throw InternalError("step '" + step.name + "' " +
                          (isKernel ? "lacks its kernel" : "is a library call with a kernel"));
    routines.push_back(isKernel ? nullptr : findLibraryRoutine(step.symbol));
    if (!isKernel && !routines.back()) {
      std::string advice(howToGet(step.symbol));
      throw Error(ErrorKind::Unsupported, "step '" + step.name + "': expected library routine '" +
                                              step.symbol + "', which this machine lacks" +
                                              (advice.empty() ? "" : ": " + advice));
    }
    workspaceStride = std::max(workspaceStride, alignUp(step.workspaceBytes));
  }
  for (Tensor &constant : program.constants)
    constant = elementAligned(constant);
}

void HostRunner::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
                     std::vector<double> *stepMicroseconds) {
  using Clock = std::chrono::steady_clock;
  requireFilesUnchanged();
  auto lease = scratches.take([] { return std::make_unique<Scratch>(); });
  Scratch &scratch = *lease;
  scratch.alignedInputs.clear();
  bindSymbols(inputs, scratch.symbols);
  std::shared_ptr<const Binding> binding = bindings.find(
      scratch.symbols, [&] { return makeHostBinding(program, kernels, scratch.symbols); });

  checkPlaces(inputs, outputs);
  checkOutputs(binding->outputShapes, outputs);
  checkApart(inputs, outputs);
  prepareOutputs(*binding, outputs);
  resolveBuffers(scratch, *binding, inputs, outputs);
  std::byte *workspace =
      workspaceStride == 0
          ? nullptr
          : scratch.workspace.reserve(workspaceStride * pool.threads(), "workspace");

  if (stepMicroseconds)
    stepMicroseconds->assign(program.steps.size(), 0);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    pollInterruption();
    auto start = stepMicroseconds ? Clock::now() : Clock::time_point();
    runStep(i, binding->steps[i], scratch, workspace, pool);
    if (stepMicroseconds)
      (*stepMicroseconds)[i] =
          std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
}

void HostRunner::prepareOutputs(const Binding &binding, std::span<Tensor> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec &spec = program.outputs[i];
    if (!outputs[i])
      outputs[i] = allocateOutput(spec, binding.outputShapes[i]);
    else if (!isElementAligned(outputs[i]))
      throw Error(ErrorKind::InvalidArgument, "output '" + spec.name +
                                                  "': expected memory aligned to " +
                                                  std::to_string(sizeOf(spec.dtype)) + " bytes");
  }
}

void HostRunner::resolveBuffers(Scratch &scratch, const Binding &binding,
                                std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  std::byte *arena = checksAccesses ? nullptr : reserveArena(scratch, program, binding);
  scratch.apart.clear();
  scratch.buffers.resize(program.buffers.size());
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const BufferInfo &buffer = program.buffers[id];
    auto index = static_cast<size_t>(buffer.index);
    switch (buffer.kind) {
    case BufferInfo::Kind::Input:
      if (isElementAligned(inputs[index])) {
        scratch.buffers[id] = pointerTo(inputs[index]);
      } else {
        scratch.alignedInputs.push_back(elementAligned(inputs[index]));
        scratch.buffers[id] = scratch.alignedInputs.back().data();
      }
      break;
    case BufferInfo::Kind::Output:
      scratch.buffers[id] = pointerTo(outputs[index]);
      break;
    case BufferInfo::Kind::Constant:
      scratch.buffers[id] = pointerTo(program.constants[index]);
      break;
    case BufferInfo::Kind::Temporary:
      if (checksAccesses) {
        auto bytes = static_cast<size_t>(buffer.bytes.evaluate(scratch.symbols));
        scratch.apart.push_back(allocateAligned(bytes, kTemporaries));
        scratch.buffers[id] = scratch.apart.back().get();
      } else {
        scratch.buffers[id] = arena + binding.plan.offsets[id];
      }
      break;
    }
  }
}

void HostRunner::runStep(size_t index, const Binding::StepFacts &facts, Scratch &scratch,
                         std::byte *workspace, ThreadPool &pool) const {
  const Step &step = program.steps[index];
  scratch.operands.clear();
  for (int id : step.operands)
    scratch.operands.push_back(scratch.buffers[static_cast<size_t>(id)]);
  void *const *operands = scratch.operands.data();
  if (routines[index])
    return routines[index](step, operands, facts.parameters, pool);
  if (facts.grid == 0)
    return;
  KernelFn kernel = kernels[index];
  const int64_t *symbols = scratch.symbols.data();
  if (facts.grain >= facts.grid) {
    kernel(operands, symbols, 0, facts.grid, workspace);
    return;
  }
  pool.parallelFor(facts.grid, facts.grain, [&](int64_t begin, int64_t end, int worker) {
    kernel(operands, symbols, begin, end,
           workspace ? workspace + worker * workspaceStride : nullptr);
  });
}

} // namespace

std::unique_ptr<ProgramRunner> makeHostRunner(Program program, std::vector<KernelFn> kernels,
                                              std::shared_ptr<void> code) {
  return std::make_unique<HostRunner>(std::move(program), std::move(kernels), std::move(code));
}

} // namespace headrace
