// Programs that the host drives: kernels are functions of the process, temporaries are in an arena.
// Steps of other engines go to a session of theirs, with memory there.
#include "runtime/program/Binding.h"
#include "runtime/program/BindingCache.h"
#include "runtime/program/Devices.h"
#include "runtime/program/IdlePool.h"
#include "runtime/program/Library.h"
#include "runtime/program/OtherEngines.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/AvailableMemory.h"
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
  std::vector<void *> operands; // of the current step
  GrowingMemory arena, workspace;
  GrowingMemory slices;             // of sliced runs, one part for each thread
  std::vector<AlignedMemory> apart; // instead of the arena if accesses are checked
  std::vector<Tensor> alignedInputs;
  OtherEngines::Visits visits;
};

Tensor allocateOutput(const TensorSpec &spec, const Shape &shape) {
  try {
    return Tensor::allocate(spec.dtype, shape);
  } catch (const OutOfMemory &error) {
    throw error.withPurpose("output '" + spec.name + "'", "a tensor of " + shapeString(shape));
  } catch (const Error &error) {
    throw Error(error.kind(),
                "output '" + spec.name + "' of " + shapeString(shape) + ": " + error.what());
  }
}

constexpr const char *kTemporaries = "intermediate results";

// Names the largest temporary if there is no memory for all of them.
std::byte *reserveArena(Scratch &scratch, const Program &program, const Binding &binding) {
  try {
    return scratch.arena.reserve(binding.plan.arenaBytes(hostEngine), kTemporaries);
  } catch (const OutOfMemory &error) {
    int64_t most = 0;
    std::string step;
    for (const BufferInfo &buffer : program.buffers) {
      if (buffer.kind != BufferInfo::Kind::Temporary || buffer.engine != hostEngine)
        continue;
      int64_t bytes = buffer.bytes.evaluate(binding.symbols);
      if (bytes > most) {
        most = bytes;
        step = program.steps[buffer.firstStep].name;
      }
    }
    throw error.withPurpose(kTemporaries, "them, " + memoryText(static_cast<size_t>(most)) +
                                              " of it for a result of '" + step + "'");
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
  HostRunner(Program givenProgram, ProgramCode givenCode);

  MemorySpace place() const override { return others.place(); }
  std::vector<std::string> stepNotes() const override {
    std::vector<std::string> notes;
    for (size_t i = 0; i < program.steps.size(); ++i) {
      std::optional<SimulatedStep> simulated = others.simulated(i);
      notes.push_back(simulated ? simulated->note : "");
    }
    return notes;
  }
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
           std::vector<double> *stepMicroseconds) override;
  void enqueue(std::span<const Tensor> inputs, std::span<Tensor> outputs, void *stream,
               const CallAllocator *allocator) override;

private:
  struct Device {
    void *stream = nullptr;
    const CallAllocator *allocator = nullptr;
    bool takesOutputs = false; // those that the caller did not make
  };
  void callWithDevice(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
                      std::vector<double> *stepMicroseconds, Device device);
  void call(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
            std::vector<double> *stepMicroseconds);
  void prepareOutputs(const Binding &binding, std::span<Tensor> outputs) const;
  void resolveBuffers(Scratch &scratch, const Binding &binding, std::span<const Tensor> inputs,
                      std::span<Tensor> outputs) const;
  void runStep(size_t index, const Binding &binding, Scratch &scratch, std::byte *workspace,
               ThreadPool &pool) const;
  void runTogether(size_t first, size_t count, const Binding &binding, Scratch &scratch,
                   std::byte *workspace, ThreadPool &pool) const;
  void runSliced(const SlicedRun &run, const Binding &binding, Scratch &scratch,
                 std::byte *workspace, ThreadPool &pool,
                 std::vector<double> *stepMicroseconds) const;

  ProgramCode code;
  std::vector<KernelFn> &kernels = code.kernels;
  std::vector<LibraryFn> routines; // null for kernels and steps of other engines
  OtherEngines others;
  int64_t workspaceStride = 0;

  BindingCache<Binding> bindings;
  IdlePool<Scratch> scratches;
};

HostRunner::HostRunner(Program givenProgram, ProgramCode givenCode)
    : ProgramRunner(std::move(givenProgram)), code(std::move(givenCode)), others(program, code) {
  if (kernels.empty())
    kernels.resize(program.steps.size());
  if (kernels.size() != program.steps.size())
    throw InternalError("program '" + program.name + "' has " +
                        std::to_string(program.steps.size()) + " steps but " +
                        std::to_string(kernels.size()) + " kernels");
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Step &step = program.steps[i];
    bool isOurs = !others.runs(i), isKernel = isOurs && step.kind == Step::Kind::Kernel;
    if (isKernel != (kernels[i] != nullptr))
      throw InternalError("step '" + step.name + "' " +
                          (isKernel ? "lacks its kernel" : "is a library call with a kernel"));
    routines.push_back(isKernel || !isOurs ? nullptr : findLibraryRoutine(step.symbol));
    if (isOurs && !isKernel && !routines.back()) {
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
  if (place().onHost())
    return call(inputs, outputs, pool, stepMicroseconds);
  bool fromDevice =
      std::ranges::any_of(inputs, [](const Tensor &input) { return !input.place().onHost(); });
  callWithDevice(inputs, outputs, pool, stepMicroseconds, {nullptr, nullptr, fromDevice});
}

void HostRunner::enqueue(std::span<const Tensor> inputs, std::span<Tensor> outputs, void *stream,
                         const CallAllocator *allocator) {
  if (place().onHost())
    return ProgramRunner::enqueue(inputs, outputs, stream, allocator);
  callWithDevice(inputs, outputs, ThreadPool::global(), nullptr, {stream, allocator, true});
}

/// Tensors of a device, in the order of its stream, are copied from there and to there.
void HostRunner::callWithDevice(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                ThreadPool &pool, std::vector<double> *stepMicroseconds,
                                Device device) {
  std::vector<int64_t> symbols;
  bindSymbols(inputs, symbols);
  checkPlaces(inputs, outputs);
  checkApart(inputs, outputs);
  std::vector<Tensor> given, results;
  for (const Tensor &input : inputs)
    given.push_back(input.place().onHost() ? input : devices::toHost(input, device.stream));
  for (const Tensor &output : outputs)
    results.push_back(output && !output.place().onHost()
                          ? Tensor::allocate(output.dtype(), output.shape())
                          : output);
  call(given, results, pool, stepMicroseconds);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i] && device.allocator)
      outputs[i] = device.allocator->output(i, results[i].shape());
    if (!outputs[i] && device.takesOutputs)
      outputs[i] = devices::toDevice(results[i], place().device);
    else if (outputs[i] && !outputs[i].place().onHost())
      devices::copyInto(outputs[i], results[i], device.stream);
    else
      outputs[i] = results[i];
  }
}

void HostRunner::call(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &pool,
                      std::vector<double> *stepMicroseconds) {
  using Clock = std::chrono::steady_clock;
  requireFilesUnchanged();
  auto lease = scratches.take([&] {
    auto fresh = std::make_unique<Scratch>();
    fresh->visits = others.begin();
    return fresh;
  });
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
    if (const SlicedRun *sliced = binding->steps[i].run) {
      runSliced(*sliced, *binding, scratch, workspace, pool, stepMicroseconds);
      i += sliced->steps() - 1;
      continue;
    }
    if (size_t count = binding->steps[i].together; count > 1 && !stepMicroseconds) {
      runTogether(i, count, *binding, scratch, workspace, pool);
      i += count - 1;
      continue;
    }
    auto start = stepMicroseconds ? Clock::now() : Clock::time_point();
    runStep(i, *binding, scratch, workspace, pool);
    if (stepMicroseconds && others.runs(i)) // it may only have been started
      others.finish(scratch.visits, *binding, scratch.buffers);
    if (!stepMicroseconds)
      continue;
    std::optional<SimulatedStep> simulated = others.simulated(i);
    (*stepMicroseconds)[i] =
        simulated ? simulated->microseconds
                  : std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
  others.finish(scratch.visits, *binding, scratch.buffers);
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
    if (others.holds(id))
      continue;
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
      if (binding.plan.offsets[id] < 0) { // of a sliced run
        scratch.buffers[id] = nullptr;
      } else if (checksAccesses) {
        auto bytes = static_cast<size_t>(buffer.bytes.evaluate(scratch.symbols));
        scratch.apart.push_back(allocateAligned(bytes, kTemporaries));
        scratch.buffers[id] = scratch.apart.back().get();
      } else {
        scratch.buffers[id] = arena + binding.plan.offsets[id];
      }
      break;
    }
  }
  others.placeBuffers(scratch.visits, binding, scratch.buffers);
}

void HostRunner::runStep(size_t index, const Binding &binding, Scratch &scratch,
                         std::byte *workspace, ThreadPool &pool) const {
  const Step &step = program.steps[index];
  const Binding::StepFacts &facts = binding.steps[index];
  if (others.runs(index))
    return others.run(index, scratch.visits, binding, scratch.buffers);
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

/// Kernels that one thread runs each, on as many threads as there are.
void HostRunner::runTogether(size_t first, size_t count, const Binding &binding, Scratch &scratch,
                             std::byte *workspace, ThreadPool &pool) const {
  scratch.operands.clear(); // of all of them, one after the other
  for (size_t i = first; i < first + count; ++i)
    for (int id : program.steps[i].operands)
      scratch.operands.push_back(scratch.buffers[static_cast<size_t>(id)]);
  pool.parallelFor(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end, int worker) {
    void *const *operands = scratch.operands.data();
    for (size_t i = first; i < first + static_cast<size_t>(end); ++i) {
      if (i >= first + static_cast<size_t>(begin))
        kernels[i](operands, scratch.symbols.data(), 0, binding.steps[i].grid,
                   workspace ? workspace + worker * workspaceStride : nullptr);
      operands += program.steps[i].operands.size();
    }
  });
}

/// The operands of a step of a sliced run, for kernels that find slice `slice` where it lies among
/// all slices: what has memory of one slice only seems to begin that much before it.
static void placeOperands(const std::vector<SlicedRun::Operand> &operands, int64_t slice,
                          std::byte *memory, const std::vector<void *> &buffers,
                          std::vector<void *> &placed) {
  placed.clear();
  for (const SlicedRun::Operand &operand : operands)
    placed.push_back(operand.offset < 0
                         ? buffers[static_cast<size_t>(operand.buffer)]
                         : reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory) +
                                                    static_cast<uintptr_t>(operand.offset) -
                                                    static_cast<uintptr_t>(slice * operand.bytes)));
}

/// Slices are tasks, as many as all threads have work for: a thread takes one through all steps.
/// The rest, and all while steps are timed, are shared by the threads step by step.
void HostRunner::runSliced(const SlicedRun &run, const Binding &binding, Scratch &scratch,
                           std::byte *workspace, ThreadPool &pool,
                           std::vector<double> *stepMicroseconds) const {
  using Clock = std::chrono::steady_clock;
  std::byte *memory = scratch.slices.reserve(run.arenaBytes * pool.threads(), kTemporaries);
  int64_t tasks = stepMicroseconds ? 0 : run.slices - run.slices % pool.threads();
  auto workspaceOf = [&](int worker) {
    return workspace ? workspace + worker * workspaceStride : nullptr;
  };
  const int64_t *symbols = scratch.symbols.data();
  pool.parallelFor(tasks, 1, [&](int64_t begin, int64_t end, int worker) {
    std::vector<void *> operands;
    for (int64_t slice = begin; slice < end; ++slice)
      for (size_t i = 0; i < run.steps(); ++i) {
        size_t index = run.first + i;
        int64_t cells = binding.steps[index].grid / run.slices;
        placeOperands(run.operands[i], slice, memory + worker * run.arenaBytes, scratch.buffers,
                      operands);
        kernels[index](operands.data(), symbols, slice * cells, (slice + 1) * cells,
                       workspaceOf(worker));
      }
  });
  for (int64_t slice = tasks; slice < run.slices; ++slice)
    for (size_t i = 0; i < run.steps(); ++i) {
      pollInterruption();
      size_t index = run.first + i;
      auto start = stepMicroseconds ? Clock::now() : Clock::time_point();
      int64_t cells = binding.steps[index].grid / run.slices, before = slice * cells;
      placeOperands(run.operands[i], slice, memory, scratch.buffers, scratch.operands);
      pool.parallelFor(cells, binding.steps[index].grain,
                       [&](int64_t begin, int64_t end, int worker) {
                         kernels[index](scratch.operands.data(), symbols, before + begin,
                                        before + end, workspaceOf(worker));
                       });
      if (stepMicroseconds)
        (*stepMicroseconds)[index] +=
            std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    }
}

} // namespace

std::unique_ptr<ProgramRunner> makeHostRunner(Program program, ProgramCode code) {
  return std::make_unique<HostRunner>(std::move(program), std::move(code));
}

} // namespace headrace
