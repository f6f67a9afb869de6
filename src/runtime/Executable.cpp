#include "runtime/Executable.h"

#include "runtime/AlignedMemory.h"
#include "runtime/BindInputs.h"
#include "runtime/Binding.h"
#include "runtime/Error.h"
#include "runtime/Library.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

namespace headrace {

namespace {

constexpr size_t keptBindings = 8;

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

// What one call needs to itself; handed on from call to call.
struct Scratch {
  std::vector<int64_t> symbols;
  std::vector<void *> buffers;  // by buffer id
  std::vector<void *> operands; // of the step at hand
  GrowingMemory arena, workspace;
  std::vector<Tensor> alignedInputs;
};

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

} // namespace

class Executable::Impl {
public:
  Impl(Program givenProgram, std::vector<KernelFn> givenKernels, std::shared_ptr<void> givenCode);

  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
           std::vector<double> *stepMicroseconds);

  Program program;

private:
  class Lease;

  std::shared_ptr<const Binding> bindingFor(std::span<const int64_t> symbols);
  void prepareOutputs(const Binding &binding, std::span<Tensor> outputs) const;
  void resolveBuffers(Scratch &scratch, const Binding &binding, std::span<const Tensor> inputs,
                      std::span<Tensor> outputs) const;
  void runStep(size_t index, const Binding::StepFacts &facts, Scratch &scratch,
               std::byte *workspace, ThreadPool &pool) const;

  std::vector<KernelFn> kernels;
  std::vector<LibraryFn> routines; // null for kernels
  std::shared_ptr<void> code;
  int64_t workspaceStride = 0;

  std::mutex mutex;                                     // for what follows
  std::vector<std::shared_ptr<const Binding>> bindings; // latest use first
  std::vector<std::unique_ptr<Scratch>> idle;
};

// Takes a scratch out of the idle ones for one call.
class Executable::Impl::Lease {
public:
  explicit Lease(Impl &impl) : impl(impl) {
    std::lock_guard lock(impl.mutex);
    if (impl.idle.empty()) {
      scratch = std::make_unique<Scratch>();
    } else {
      scratch = std::move(impl.idle.back());
      impl.idle.pop_back();
    }
  }
  ~Lease() {
    scratch->alignedInputs.clear();
    std::lock_guard lock(impl.mutex);
    impl.idle.push_back(std::move(scratch));
  }
  Lease(const Lease &) = delete;
  Scratch &operator*() const { return *scratch; }

private:
  Impl &impl;
  std::unique_ptr<Scratch> scratch;
};

Executable::Impl::Impl(Program givenProgram, std::vector<KernelFn> givenKernels,
                       std::shared_ptr<void> givenCode)
    : program(std::move(givenProgram)), kernels(std::move(givenKernels)),
      code(std::move(givenCode)) {
  verifyProgram(program);
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
    if (!isKernel && !routines.back())
      throw Error(ErrorKind::Unsupported, "step '" + step.name + "': expected library routine '" +
                                              step.symbol + "', which this machine lacks");
    workspaceStride = std::max(workspaceStride, alignUp(step.workspaceBytes));
  }
  for (Tensor &constant : program.constants)
    constant = elementAligned(constant);
}

void Executable::Impl::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           ThreadPool &pool, std::vector<double> *stepMicroseconds) {
  using Clock = std::chrono::steady_clock;
  Lease lease(*this);
  Scratch &scratch = *lease;
  if (!bindInputs(program, inputs, scratch.symbols))
    throw Error(ErrorKind::ShapeMismatch, describeGuardFailure(program, scratch.symbols));
  std::shared_ptr<const Binding> binding = bindingFor(scratch.symbols);

  prepareOutputs(*binding, outputs);
  resolveBuffers(scratch, *binding, inputs, outputs);
  std::byte *workspace =
      workspaceStride == 0
          ? nullptr
          : scratch.workspace.reserve(workspaceStride * pool.threads(), "workspace");

  if (stepMicroseconds)
    stepMicroseconds->assign(program.steps.size(), 0);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    auto start = stepMicroseconds ? Clock::now() : Clock::time_point();
    runStep(i, binding->steps[i], scratch, workspace, pool);
    if (stepMicroseconds)
      (*stepMicroseconds)[i] =
          std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
}

void Executable::Impl::prepareOutputs(const Binding &binding, std::span<Tensor> outputs) const {
  if (outputs.size() != program.outputs.size())
    throw Error(ErrorKind::InvalidArgument, "program '" + program.name + "': expected " +
                                                std::to_string(program.outputs.size()) +
                                                " outputs, got " + std::to_string(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec &spec = program.outputs[i];
    const Shape &shape = binding.outputShapes[i];
    Tensor &output = outputs[i];
    if (!output) {
      output = Tensor::allocate(spec.dtype, shape);
      continue;
    }
    if (output.dtype() != spec.dtype || output.shape() != shape)
      throw Error(ErrorKind::ShapeMismatch,
                  "output '" + spec.name + "': expected memory for " +
                      std::string(nameOf(spec.dtype)) + " " + shapeString(shape) + ", got " +
                      std::string(nameOf(output.dtype())) + " " + shapeString(output.shape()));
    if (!isElementAligned(output))
      throw Error(ErrorKind::InvalidArgument, "output '" + spec.name +
                                                  "': expected memory aligned to " +
                                                  std::to_string(sizeOf(spec.dtype)) + " bytes");
  }
}

std::shared_ptr<const Binding> Executable::Impl::bindingFor(std::span<const int64_t> symbols) {
  auto matches = [&](const std::shared_ptr<const Binding> &binding) {
    return std::ranges::equal(binding->symbols, symbols);
  };
  {
    std::lock_guard lock(mutex);
    auto found = std::find_if(bindings.begin(), bindings.end(), matches);
    if (found != bindings.end()) {
      std::rotate(bindings.begin(), found, found + 1);
      return bindings.front();
    }
  }
  // Made outside the lock; two threads may make the same one, which is harmless.
  auto binding = std::make_shared<const Binding>(makeBinding(program, kernels, symbols));
  std::lock_guard lock(mutex);
  if (bindings.size() == keptBindings)
    bindings.pop_back();
  bindings.insert(bindings.begin(), binding);
  return binding;
}

void Executable::Impl::resolveBuffers(Scratch &scratch, const Binding &binding,
                                      std::span<const Tensor> inputs,
                                      std::span<Tensor> outputs) const {
  std::byte *arena = scratch.arena.reserve(binding.plan.totalBytes, "intermediate results");
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
      scratch.buffers[id] = arena + binding.plan.offsets[id];
      break;
    }
  }
}

void Executable::Impl::runStep(size_t index, const Binding::StepFacts &facts, Scratch &scratch,
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

Executable::Executable(Program program, std::vector<KernelFn> kernels, std::shared_ptr<void> code)
    : impl(std::make_unique<Impl>(std::move(program), std::move(kernels), std::move(code))) {}
Executable::~Executable() = default;
Executable::Executable(Executable &&) noexcept = default;
Executable &Executable::operator=(Executable &&) noexcept = default;

const Program &Executable::program() const { return impl->program; }

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs, ThreadPool &pool,
                                    std::vector<double> *stepMicroseconds) const {
  std::vector<Tensor> outputs(impl->program.outputs.size());
  impl->run(inputs, outputs, pool, stepMicroseconds);
  return outputs;
}

void Executable::runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                         ThreadPool &pool) const {
  impl->run(inputs, outputs, pool, nullptr);
}

std::optional<std::vector<int64_t>> Executable::bind(std::span<const Tensor> inputs) const {
  std::vector<int64_t> symbols;
  if (!bindInputs(impl->program, inputs, symbols))
    return std::nullopt;
  return symbols;
}

MemoryPlan Executable::memoryPlan(std::span<const int64_t> symbols) const {
  return planTemporaries(impl->program, symbols);
}

int64_t Executable::peakBytes(std::span<const int64_t> symbols) const {
  return memoryPlan(symbols).totalBytes + outputBytes(impl->program, symbols);
}

} // namespace headrace
