#include "runtime/cuda/ProgramGraph.h"

#include "runtime/system/Error.h"

namespace headrace::cuda {

namespace {

/// Everything put into the stream while `work` runs, as a graph. A failure leaves the stream
/// usable.
template <class Work> Graph capture(Stream stream, const Work &work) {
  const Driver &api = driver();
  check(api.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "recording a graph");
  Graph graph = nullptr;
  try {
    work();
  } catch (...) {
    if (api.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph)
      api.cuGraphDestroy(graph);
    throw;
  }
  check(api.cuStreamEndCapture(stream, &graph), "recording a graph");
  return graph;
}

/// The node that was recorded last.
GraphNode lastNode(Stream stream) {
  int status = 0;
  uint64_t id = 0;
  Graph graph = nullptr;
  const GraphNode *last = nullptr;
  size_t count = 0;
  check(driver().cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &last, &count),
        "recording a graph");
  if (count != 1)
    throw InternalError("a recorded launch left " + std::to_string(count) + " nodes");
  return last[0];
}

} // namespace

ProgramGraph::ProgramGraph(const DeviceProgram &program,
                           std::shared_ptr<const DeviceBinding> binding, const CallMemory &memory,
                           Stream recorder)
    : program(program), bound(std::move(binding)), current(memory) {
  graph = capture(recorder, [&] { record(recorder); });
  Result result = driver().cuGraphInstantiateWithFlags(&executable, graph, 0);
  if (result != CUDA_SUCCESS)
    driver().cuGraphDestroy(graph);
  check(result, "preparing a graph");
}

ProgramGraph::~ProgramGraph() {
  // At the end of the process the driver may be gone, which it says by an error.
  driver().cuGraphExecDestroy(executable);
  driver().cuGraphDestroy(graph);
}

void ProgramGraph::record(Stream recorder) {
  for (size_t step = 0; step < program.steps(); ++step)
    program.launch(step, *bound, current, recorder, [&](const BoundLaunch &launch) {
      nodes.push_back({step, &launch, lastNode(recorder)});
    });
}

bool ProgramGraph::touches(size_t step, const CallMemory &other) const {
  if (program.isRoutine(step) && other.routineWorkspace != current.routineWorkspace)
    return true;
  return other.arena != current.arena ||
         program.operands(step, other) != program.operands(step, current);
}

bool ProgramGraph::fits(const CallMemory &memory) const {
  if (memory == current)
    return true;
  for (size_t step = 0; step < program.steps(); ++step)
    if (program.isRoutine(step) && touches(step, memory))
      return false;
  return true;
}

bool ProgramGraph::update(const CallMemory &memory) {
  if (memory == current)
    return true;
  std::vector<bool> changed(program.steps());
  for (size_t step = 0; step < program.steps(); ++step)
    changed[step] = touches(step, memory);
  Arguments arguments;
  for (const Node &node : nodes) {
    if (!changed[node.step])
      continue;
    const BoundLaunch &launch = *node.launch;
    KernelNodeParameters parameters{};
    parameters.function = launch.function;
    for (size_t i = 0; i < 3; ++i) {
      parameters.grid[i] = launch.grid[i];
      parameters.block[i] = static_cast<unsigned>(launch.launch->block[i]);
    }
    parameters.sharedBytes = static_cast<unsigned>(launch.launch->sharedBytes);
    parameters.parameters = arguments.fill(launch, program.operands(node.step, memory),
                                           DeviceProgram::workspace(node.step, *bound, memory));
    if (driver().cuGraphExecKernelNodeSetParams_v2(executable, node.node, &parameters) !=
        CUDA_SUCCESS)
      return false;
  }
  current = memory;
  return true;
}

void ProgramGraph::launch(Stream stream) const {
  check(driver().cuGraphLaunch(executable, stream), "launching a graph");
}

std::vector<double> timeSteps(const DeviceProgram &program, const DeviceBinding &binding,
                              const CallMemory &memory, Stream recorder, Stream stream) {
  const Driver &api = driver();
  const std::string what = "timing the program";
  struct Events {
    ~Events() {
      for (Event event : all)
        driver().cuEventDestroy_v2(event);
    }
    std::vector<Event> all;
  } events;
  for (size_t i = 0; i <= program.steps(); ++i) {
    Event event = nullptr;
    check(api.cuEventCreate(&event, CU_EVENT_DEFAULT), what);
    events.all.push_back(event);
  }
  // In a graph, since the host is slower to submit a small kernel than the device to run it.
  auto mark = [&](size_t i) {
    check(api.cuEventRecordWithFlags(events.all[i], recorder, CU_EVENT_RECORD_EXTERNAL), what);
  };
  Graph graph = capture(recorder, [&] {
    mark(0);
    for (size_t step = 0; step < program.steps(); ++step) {
      program.launch(step, binding, memory, recorder);
      mark(step + 1);
    }
  });
  GraphExec executable = nullptr;
  Result result = api.cuGraphInstantiateWithFlags(&executable, graph, 0);
  if (result == CUDA_SUCCESS)
    result = api.cuGraphLaunch(executable, stream);
  if (result == CUDA_SUCCESS)
    result = api.cuStreamSynchronize(stream);
  api.cuGraphExecDestroy(executable);
  api.cuGraphDestroy(graph);
  check(result, what);
  std::vector<double> microseconds;
  for (size_t i = 0; i < program.steps(); ++i) {
    float milliseconds = 0;
    check(api.cuEventElapsedTime(&milliseconds, events.all[i], events.all[i + 1]), what);
    microseconds.push_back(milliseconds * 1000.0);
  }
  return microseconds;
}

} // namespace headrace::cuda
