// Programs of a CUDA device: constants there once and for all, temporaries by the static plan in
// one piece of pool memory, steps as launches in a stream, or as one graph once a size has come
// twice.
#include "runtime/cuda/Checks.h"
#include "runtime/cuda/CudaEngine.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/ProgramGraph.h"
#include "runtime/program/BindingCache.h"
#include "runtime/program/IdlePool.h"
#include "runtime/program/ProgramRunner.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

namespace headrace {

namespace {

using namespace cuda;

// Kernels load 16 bytes at a time.
constexpr Address neededAlignment = 16;
constexpr size_t keptGraphs = 8;
// Library calls cannot be told other addresses: each combination is a graph, while there are few.
constexpr size_t graphsOfASize = 4;
// Fewer launches are submitted one by one as quickly.
constexpr size_t worthAGraph = 3;

Address addressOf(const Tensor &tensor) { return reinterpret_cast<Address>(tensor.data()); }

/// State that one call needs to itself. Its own stream is the device's and outlives it, as tensors
/// may be freed in its order.
class Scratch {
public:
  Scratch(Device &device, const Program &program) : device(device), checks(device, program) {
    Current current(device);
    WhileRecording permitted;
    own = device.takeStream();
    // The default stream, which others may be using, must not wait for what is only recorded.
    check(driver().cuStreamCreate(&recorder, CU_STREAM_NON_BLOCKING), "making a stream");
    check(driver().cuEventCreate(&done, CU_EVENT_DISABLE_TIMING), "making an event");
  }
  ~Scratch() {
    try {
      Current current(device);
      driver().cuStreamSynchronize(own);
      graphs.clear();
      driver().cuEventDestroy_v2(done);
      driver().cuStreamDestroy_v2(recorder);
    } catch (const Error &) { // NOLINT(bugprone-empty-catch): the driver may be gone
    }
    device.returnStream(own);
  }
  Scratch(const Scratch &) = delete;

  /// Memory that is at least so large, for use in any stream.
  Address reserve(Memory &memory, int64_t bytes, const char *what) {
    auto wanted = static_cast<size_t>(bytes);
    if (wanted <= memory.bytes())
      return memory.address();
    // The old memory must be out of use, and goes first, so that both need not fit together.
    check(driver().cuStreamSynchronize(own), "waiting for the device");
    memory = Memory();
    memory = Memory(device, wanted, own, what);
    check(driver().cuStreamSynchronize(own), "allocating memory");
    return memory.address();
  }

  Device &device;
  Stream own = nullptr, recorder = nullptr;
  Event done = nullptr; // its last call
  bool used = false;
  std::vector<int64_t> symbols;
  Memory arena, staging, routineWorkspace;
  CallMemory memory;
  CheckRecords checks;
  std::shared_ptr<const DeviceBinding> lastBinding; // whose checks these are
  std::list<ProgramGraph> graphs;                   // latest use first
  std::vector<const DeviceBinding *> seenBefore;    // sizes that came once
  CallMemory unrecorded;                            // of the last call that had no room for a graph
};

class CudaRunner final : public ProgramRunner {
public:
  CudaRunner(Program givenProgram, const std::vector<DeviceImage> &images)
      : ProgramRunner(std::move(givenProgram)), device(Device::get(chosenDevice())),
        steps(device, program, images), recordedChecks(device, program) {
    Current current(device);
    for (Tensor &constant : program.constants) {
      constants.push_back(toDevice(device, constant));
      // Its values are on the device now; type and shape stay.
      constant = Tensor::borrow(constant.dtype(), constant.shape(), nullptr, nullptr);
    }
  }

  MemorySpace place() const override { return {device.number()}; }

  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool &,
           std::vector<double> *stepMicroseconds) override {
    call(inputs, outputs, {}, stepMicroseconds);
  }

  void enqueue(std::span<const Tensor> inputs, std::span<Tensor> outputs, void *stream,
               const CallAllocator *allocator) override {
    call(inputs, outputs, {static_cast<Stream>(stream), allocator}, nullptr);
  }

  std::vector<std::string> stepNotes() const override { return steps.notes(); }

  void raiseDataErrors() override {
    scratches.forEachIdle([](Scratch &scratch) {
      if (scratch.lastBinding)
        scratch.checks.raise(*scratch.lastBinding);
    });
    std::lock_guard lock(recordedMutex);
    if (recordedBinding)
      recordedChecks.raise(*recordedBinding);
  }

private:
  /// Whose stream and memory a call uses; its scratch's if there are none.
  struct Order {
    std::optional<Stream> stream;
    const CallAllocator *allocator = nullptr;
  };

  /// Copies between the host's tensors and their places on the device.
  struct Copy {
    Address device;
    void *host;
    size_t bytes;
    const std::string *name;
  };

  /// Copies and memory that a stream still uses while the host goes on.
  struct Pending {
    std::vector<Copy> in, out;
    std::vector<std::shared_ptr<void>> memory; // of the caller's allocator
  };

  void call(std::span<const Tensor> inputs, std::span<Tensor> outputs, const Order &order,
            std::vector<double> *stepMicroseconds);
  void checkRecording(const Order &order, std::span<const Tensor> inputs,
                      std::span<const Tensor> outputs) const;
  Tensor makeOutput(size_t index, const Shape &shape, const Order &order, Stream stream) const;
  void placeBuffers(Scratch &scratch, const DeviceBinding &binding, std::span<const Tensor> inputs,
                    std::span<Tensor> outputs, Stream stream, const CallAllocator *allocator,
                    Pending &pending);
  void runSteps(Scratch &scratch, const std::shared_ptr<const DeviceBinding> &binding,
                Stream stream, bool recording);
  ProgramGraph *graphFor(Scratch &scratch, const std::shared_ptr<const DeviceBinding> &binding);

  Device &device;
  DeviceProgram steps;
  std::vector<Tensor> constants;
  BindingCache<DeviceBinding> bindings;
  /// The checks of calls that are recorded as part of a graph (stream capture) and run by its
  /// launches.
  CheckRecords recordedChecks;
  std::shared_ptr<const DeviceBinding> recordedBinding;
  std::mutex recordedMutex; // for the binding
  IdlePool<Scratch> scratches;
};

void CudaRunner::call(std::span<const Tensor> inputs, std::span<Tensor> outputs, const Order &order,
                      std::vector<double> *stepMicroseconds) {
  raiseDataErrors();
  auto lease = scratches.take([&] { return std::make_unique<Scratch>(device, program); });
  Scratch &scratch = *lease;
  bindSymbols(inputs, scratch.symbols);
  checkPlaces(inputs, outputs);
  std::shared_ptr<const DeviceBinding> binding =
      bindings.find(scratch.symbols, [&] { return steps.bind(scratch.symbols); });
  checkOutputs(binding->common.outputShapes, outputs);
  checkApart(inputs, outputs);

  Current current(device);
  Stream stream = order.stream.value_or(scratch.own);
  bool recording = order.stream && isRecording(stream);
  if (recording) {
    checkRecording(order, inputs, outputs);
    std::lock_guard lock(recordedMutex);
    recordedBinding = binding;
  } else {
    scratch.lastBinding = binding;
  }
  scratch.memory.checkRecords = (recording ? recordedChecks : scratch.checks).address();
  bool ownMemory = !order.allocator;
  if (ownMemory && scratch.used) // it may be in use in another stream
    check(driver().cuStreamWaitEvent(stream, scratch.done, 0), "waiting for the last call");
  bool toHost = !order.stream && std::ranges::all_of(inputs, [](const Tensor &input) {
    return input.place().onHost();
  });
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i]) {
      const Shape &shape = binding->common.outputShapes[i];
      outputs[i] = toHost ? Tensor::allocate(program.outputs[i].dtype, shape)
                          : makeOutput(i, shape, order, stream);
    }

  Pending pending;
  placeBuffers(scratch, *binding, inputs, outputs, stream, order.allocator, pending);
  for (const Copy &copy : pending.in)
    check(driver().cuMemcpyHtoDAsync_v2(copy.device, copy.host, copy.bytes, stream),
          "copying input '" + *copy.name + "' to the device");
  if (stepMicroseconds)
    *stepMicroseconds = timeSteps(steps, *binding, scratch.memory, scratch.recorder, stream);
  else
    runSteps(scratch, binding, stream, recording);
  for (const Copy &copy : pending.out)
    check(driver().cuMemcpyDtoHAsync_v2(copy.host, copy.device, copy.bytes, stream),
          "copying output '" + *copy.name + "' from the device");
  if (ownMemory) {
    check(driver().cuEventRecord(scratch.done, stream), "recording the call's end");
    scratch.used = true;
  }
  if (order.stream && pending.out.empty())
    return;
  check(driver().cuStreamSynchronize(stream), "running program '" + program.name + "'");
  scratch.checks.raise(*binding);
}

/// A graph replays the recorded work later: with memory that stays, and without the host.
void CudaRunner::checkRecording(const Order &order, std::span<const Tensor> inputs,
                                std::span<const Tensor> outputs) const {
  std::string what = "program '" + program.name + "', recorded as a graph: ";
  if (!order.allocator)
    throw Error(ErrorKind::Unsupported, what + "expected memory that the caller allocates");
  auto onHost = [](const Tensor &tensor) { return tensor && tensor.place().onHost(); };
  if (std::ranges::any_of(inputs, onHost) || std::ranges::any_of(outputs, onHost))
    throw Error(ErrorKind::Unsupported,
                what + "expected all tensors on the device, got one in host memory");
}

Tensor CudaRunner::makeOutput(size_t index, const Shape &shape, const Order &order,
                              Stream stream) const {
  if (order.allocator)
    return order.allocator->output(index, shape);
  const TensorSpec &spec = program.outputs[index];
  return allocateTensor(device, spec.dtype, shape, stream, "output '" + spec.name + "'");
}

/// The host's tensors get places of their own, which are the same from call to call.
void CudaRunner::placeBuffers(Scratch &scratch, const DeviceBinding &binding,
                              std::span<const Tensor> inputs, std::span<Tensor> outputs,
                              Stream stream, const CallAllocator *allocator, Pending &pending) {
  auto memoryFor = [&](Memory &own, int64_t bytes, const char *what) {
    if (!allocator || bytes == 0)
      return scratch.reserve(own, bytes, what);
    pending.memory.push_back(allocator->temporary(static_cast<size_t>(bytes)));
    return reinterpret_cast<Address>(pending.memory.back().get());
  };
  auto inPlace = [](const Tensor &tensor) {
    return !tensor.place().onHost() && addressOf(tensor) % neededAlignment == 0;
  };
  int64_t staged = 0;
  for (std::span<const Tensor> tensors : {inputs, std::span<const Tensor>(outputs)})
    for (const Tensor &tensor : tensors)
      if (!inPlace(tensor))
        staged += alignUp(static_cast<int64_t>(tensor.bytes()));
  Address next = memoryFor(scratch.staging, staged, "inputs and outputs");
  auto stage = [&](const Tensor &tensor) {
    Address at = next;
    next += static_cast<Address>(alignUp(static_cast<int64_t>(tensor.bytes())));
    return at;
  };

  CallMemory &memory = scratch.memory;
  memory.arena = memoryFor(scratch.arena, binding.common.plan.totalBytes, "intermediate results");
  if (steps.hasRoutines())
    memory.routineWorkspace =
        memoryFor(scratch.routineWorkspace, routineWorkspaceBytes, "libraries");
  std::vector<Address> inputAddresses, outputAddresses;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor &input = inputs[i];
    inputAddresses.push_back(inPlace(input) ? addressOf(input) : stage(input));
    if (inPlace(input) || input.bytes() == 0)
      continue;
    if (input.place().onHost())
      pending.in.push_back({inputAddresses[i], const_cast<void *>(input.data()), input.bytes(),
                            &program.inputs[i].name});
    else
      check(
          driver().cuMemcpyDtoDAsync_v2(inputAddresses[i], addressOf(input), input.bytes(), stream),
          "aligning input '" + program.inputs[i].name + "'");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor &output = outputs[i];
    outputAddresses.push_back(inPlace(output) ? addressOf(output) : stage(output));
    if (!inPlace(output) && !output.place().onHost())
      throw Error(ErrorKind::InvalidArgument,
                  "output '" + program.outputs[i].name + "': expected memory aligned to 16 bytes");
    if (output.place().onHost() && output.bytes() > 0)
      pending.out.push_back(
          {outputAddresses[i], output.data(), output.bytes(), &program.outputs[i].name});
  }
  memory.buffers.clear();
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const BufferInfo &buffer = program.buffers[id];
    auto index = static_cast<size_t>(buffer.index);
    switch (buffer.kind) {
    case BufferInfo::Kind::Input:
      memory.buffers.push_back(inputAddresses[index]);
      break;
    case BufferInfo::Kind::Output:
      memory.buffers.push_back(outputAddresses[index]);
      break;
    case BufferInfo::Kind::Constant:
      memory.buffers.push_back(addressOf(constants[index]));
      break;
    case BufferInfo::Kind::Temporary:
      memory.buffers.push_back(memory.arena +
                               static_cast<Address>(binding.common.plan.offsets[id]));
      break;
    }
  }
}

void CudaRunner::runSteps(Scratch &scratch, const std::shared_ptr<const DeviceBinding> &binding,
                          Stream stream, bool recording) {
  if (ProgramGraph *graph = recording ? nullptr : graphFor(scratch, binding))
    return graph->launch(stream);
  for (size_t step = 0; step < steps.steps(); ++step)
    steps.launch(step, *binding, scratch.memory, stream);
}

/// None if submitting the steps one by one is as good: recording pays from the second call on.
ProgramGraph *CudaRunner::graphFor(Scratch &scratch,
                                   const std::shared_ptr<const DeviceBinding> &binding) {
  if (binding->launches < worthAGraph)
    return nullptr;
  std::list<ProgramGraph> &graphs = scratch.graphs;
  auto ofThisSize = [&](const ProgramGraph &graph) { return graph.binding() == binding; };
  auto found = std::ranges::find_if(graphs, [&](const ProgramGraph &graph) {
    return ofThisSize(graph) && graph.fits(scratch.memory);
  });
  if (found != graphs.end()) {
    if (found->update(scratch.memory)) {
      graphs.splice(graphs.begin(), graphs, found);
      return &graphs.front();
    }
    graphs.erase(found);
  }
  auto others = static_cast<size_t>(std::ranges::count_if(graphs, ofThisSize));
  if (others == graphsOfASize) {
    if (scratch.memory != std::exchange(scratch.unrecorded, scratch.memory))
      return nullptr; // they change all the time
    graphs.erase(std::next(std::find_if(graphs.rbegin(), graphs.rend(), ofThisSize)).base());
  }
  if (others == 0 &&
      std::ranges::find(scratch.seenBefore, binding.get()) == scratch.seenBefore.end()) {
    if (scratch.seenBefore.size() == keptGraphs)
      scratch.seenBefore.erase(scratch.seenBefore.begin());
    scratch.seenBefore.push_back(binding.get());
    return nullptr;
  }
  if (graphs.size() == keptGraphs)
    graphs.pop_back();
  graphs.emplace_front(steps, binding, scratch.memory, scratch.recorder);
  return &graphs.front();
}

} // namespace

std::unique_ptr<ProgramRunner> cuda::makeRunnerOfDevice(Program program,
                                                        const std::vector<DeviceImage> &images) {
  WhileRecording permitted;
  return std::make_unique<CudaRunner>(std::move(program), images);
}

} // namespace headrace
