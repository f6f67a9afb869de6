#include "runtime/cuda/FakeDriver.h"

#include "runtime/cuda/Driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

using namespace headrace::cuda;

namespace {

struct Work {
  Function function = nullptr; // null where it is no launch
  unsigned grid[3] = {1, 1, 1};
  std::vector<uint64_t> words; // arguments
  std::vector<TensorMap> maps; // by argument
  std::function<void()> other;
};

} // namespace

namespace headrace::cuda {

struct FunctionRecord {
  std::string name;
  int parameters = 0;
  uint32_t mapParameters = 0; // a bit each
  void (*body)(const Work &) = nullptr;
  int sharedLimit = 48 << 10;
};
struct ModuleRecord {
  std::vector<std::unique_ptr<FunctionRecord>> functions;
};
struct GraphNodeRecord {
  Work work;
};
struct GraphRecord {
  std::vector<std::shared_ptr<GraphNodeRecord>> nodes;
};
struct GraphExecRecord {
  std::vector<std::shared_ptr<GraphNodeRecord>> originals; // to find nodes by
  std::vector<Work> work;
};
struct StreamRecord {
  Graph recording = nullptr;
  GraphNode last = nullptr;
};
struct EventRecord {
  int recorded = 0;
};
struct LinkRecord {
  std::string text, code;
};
struct ContextRecord {};
struct PoolRecord {};

} // namespace headrace::cuda

static headrace::test::FakeDriver state;
extern "C" __attribute__((visibility("default"))) headrace::test::FakeDriver *fakeDriver() {
  return &state;
}

namespace {

std::recursive_mutex mutex;
std::map<Address, size_t> allocations;
StreamRecord defaultStream;
int clockTicks = 0;

// 0, 1 and 2 are default streams.
StreamRecord &streamOf(Stream stream) {
  return reinterpret_cast<uintptr_t>(stream) > 2 ? *stream : defaultStream;
}

void run(const Work &work) {
  if (work.function)
    work.function->body(work);
  else
    work.other();
}

void submit(Stream given, Work work) {
  StreamRecord &stream = streamOf(given);
  if (!stream.recording)
    return run(work);
  stream.recording->nodes.push_back(std::make_shared<GraphNodeRecord>());
  stream.recording->nodes.back()->work = std::move(work);
  stream.last = stream.recording->nodes.back().get();
}

// --- device functions, by name: arguments are those of the tests' programs ---

template <class T> T *at(const Work &work, size_t i) {
  return reinterpret_cast<T *>(work.words[i]);
}

/// x, y, n: y = x + 1
void addOne(const Work &work) {
  for (uint64_t i = 0; i < work.words[2]; ++i)
    at<float>(work, 1)[i] = at<const float>(work, 0)[i] + 1;
}

/// a, b, y, n: y = a * b
void multiply(const Work &work) {
  for (uint64_t i = 0; i < work.words[3]; ++i)
    at<float>(work, 2)[i] = at<const float>(work, 0)[i] * at<const float>(work, 1)[i];
}

/// workspace, x, n: workspace[0] = sum of x
void partial(const Work &work) {
  float sum = 0;
  for (uint64_t i = 0; i < work.words[2]; ++i)
    sum += at<const float>(work, 1)[i];
  at<float>(work, 0)[0] = sum;
}

/// workspace, y: y[0] = workspace[0]
void finish(const Work &work) { at<float>(work, 1)[0] = at<const float>(work, 0)[0]; }

/// map, y: y[0 .. 7] = the words of the map (see cuTensorMapEncodeTiled below)
void showMap(const Work &work) {
  for (size_t i = 0; i < 8; ++i)
    at<int64_t>(work, 1)[i] = static_cast<int64_t>(work.maps[0].words[i + 1]);
}

struct Known {
  const char *name;
  int parameters;
  uint32_t maps;
  void (*body)(const Work &);
};
constexpr Known knownFunctions[] = {{"add_one", 3, 0, addOne},
                                    {"multiply", 4, 0, multiply},
                                    {"partial", 3, 0, partial},
                                    {"finish", 2, 0, finish},
                                    {"show_map", 2, 1, showMap}};

Work makeWork(Function function, void **parameters) {
  Work work;
  work.function = function;
  for (int i = 0; i < function->parameters; ++i) {
    uint64_t word = 0;
    TensorMap map{};
    if (function->mapParameters >> i & 1)
      std::memcpy(&map, parameters[i], sizeof map);
    else
      std::memcpy(&word, parameters[i], sizeof word);
    work.words.push_back(word);
    work.maps.push_back(map);
  }
  return work;
}

} // namespace

// Counts the call; returns the error that a test asked for.
#define ENTER                                                                                      \
  std::lock_guard lock(mutex);                                                                     \
  ++state.calls[__func__];                                                                         \
  if (auto failure = state.failures.find(__func__); failure != state.failures.end()) {             \
    int error = failure->second;                                                                   \
    state.failures.erase(failure);                                                                 \
    return error;                                                                                  \
  }

extern "C" {
#pragma GCC visibility push(default)

Result cuInit(unsigned) {
  ENTER;
  return state.devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
Result cuDriverGetVersion(int *version) {
  ENTER;
  // Tests of a fresh process have no other way in.
  const char *given = std::getenv("FAKE_CUDA_VERSION");
  *version = given ? std::atoi(given) : state.version;
  return CUDA_SUCCESS;
}
Result cuGetErrorName(Result error, const char **name) {
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 700                    ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == 218                    ? "CUDA_ERROR_INVALID_PTX"
          : error == 500                    ? "CUDA_ERROR_NOT_FOUND"
                                            : nullptr;
  return *name ? CUDA_SUCCESS : 1;
}
Result cuDeviceGetCount(int *count) {
  ENTER;
  *count = state.devices;
  return CUDA_SUCCESS;
}
Result cuDeviceGet(DeviceNumber *device, int number) {
  ENTER;
  *device = number;
  return CUDA_SUCCESS;
}
Result cuDeviceGetName(char *name, int length, DeviceNumber) {
  ENTER;
  std::strncpy(name, "Fake H200", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}
Result cuDeviceGetAttribute(int *value, int which, DeviceNumber) {
  ENTER;
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
           : which == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED   ? 1
                                                                   : 227 << 10;
  return CUDA_SUCCESS;
}
Result cuDevicePrimaryCtxRetain(Context *context, DeviceNumber) {
  ENTER;
  static ContextRecord only;
  *context = &only;
  return CUDA_SUCCESS;
}
static thread_local int contexts = 0;
Result cuCtxPushCurrent_v2(Context) {
  ENTER;
  ++contexts;
  return CUDA_SUCCESS;
}
Result cuCtxPopCurrent_v2(Context *) {
  ENTER;
  --contexts;
  return CUDA_SUCCESS;
}
Result cuMemPoolCreate(Pool *pool, const PoolProperties *) {
  ENTER;
  static PoolRecord only;
  *pool = &only;
  return CUDA_SUCCESS;
}
Result cuMemPoolSetAttribute(Pool, int, void *) {
  ENTER;
  return CUDA_SUCCESS;
}
Result cuMemPoolTrimTo(Pool, size_t) {
  ENTER;
  return CUDA_SUCCESS;
}
Result cuMemAllocFromPoolAsync(Address *address, size_t bytes, Pool, Stream) {
  ENTER;
  if (contexts == 0)
    return 201; // CUDA_ERROR_INVALID_CONTEXT
  if (state.memoryUsed + static_cast<int64_t>(bytes) > state.memoryLimit)
    return CUDA_ERROR_OUT_OF_MEMORY;
  state.memoryUsed += static_cast<int64_t>(bytes);
  void *memory = std::malloc(bytes);
  std::memset(memory, 0xa5, bytes); // what nobody wrote looks wrong
  *address = reinterpret_cast<Address>(memory);
  allocations[*address] = bytes;
  return CUDA_SUCCESS;
}
Result cuMemFreeAsync(Address address, Stream) {
  ENTER;
  state.memoryUsed -= static_cast<int64_t>(allocations[address]);
  allocations.erase(address);
  std::free(reinterpret_cast<void *>(address));
  return CUDA_SUCCESS;
}
static Result copy(void *to, const void *from, size_t bytes, Stream stream) {
  Work work;
  work.other = [=] { std::memcpy(to, from, bytes); };
  submit(stream, std::move(work));
  return CUDA_SUCCESS;
}
Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream stream) {
  ENTER;
  return copy(reinterpret_cast<void *>(to), from, bytes, stream);
}
Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream stream) {
  ENTER;
  return copy(to, reinterpret_cast<const void *>(from), bytes, stream);
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  ENTER;
  return copy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes, stream);
}
Result cuPointerGetAttribute(void *value, int which, Address address) {
  ENTER;
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin() || (--after)->first + after->second <= address)
    return 1;
  *static_cast<unsigned *>(value) = which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? 2 : 0;
  return CUDA_SUCCESS;
}
Result cuStreamCreate(Stream *stream, unsigned) {
  ENTER;
  *stream = new StreamRecord;
  ++state.liveStreams;
  return CUDA_SUCCESS;
}
Result cuStreamDestroy_v2(Stream stream) {
  ENTER;
  delete stream;
  --state.liveStreams;
  return CUDA_SUCCESS;
}
Result cuStreamSynchronize(Stream) {
  ENTER;
  return CUDA_SUCCESS;
}
Result cuStreamWaitEvent(Stream, Event, unsigned) {
  ENTER;
  return CUDA_SUCCESS;
}
Result cuStreamBeginCapture_v2(Stream stream, int) {
  ENTER;
  streamOf(stream).recording = new GraphRecord;
  ++state.liveGraphs;
  return CUDA_SUCCESS;
}
Result cuStreamEndCapture(Stream stream, Graph *graph) {
  ENTER;
  *graph = streamOf(stream).recording;
  streamOf(stream).recording = nullptr;
  return CUDA_SUCCESS;
}
Result cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTER;
  static thread_local int current = 0;
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}
Result cuStreamGetCaptureInfo_v2(Stream stream, int *status, uint64_t *, Graph *graph,
                                 const GraphNode **nodes, size_t *count) {
  ENTER;
  *status = streamOf(stream).recording ? 1 : 0;
  if (graph) {
    *graph = streamOf(stream).recording;
    *nodes = &streamOf(stream).last;
    *count = 1;
  }
  return CUDA_SUCCESS;
}
Result cuEventCreate(Event *event, unsigned) {
  ENTER;
  *event = new EventRecord;
  ++state.liveEvents;
  return CUDA_SUCCESS;
}
Result cuEventDestroy_v2(Event event) {
  ENTER;
  delete event;
  --state.liveEvents;
  return CUDA_SUCCESS;
}
Result cuEventRecordWithFlags(Event event, Stream stream, unsigned) {
  ENTER;
  Work work;
  work.other = [=] { event->recorded = ++clockTicks; };
  submit(stream, std::move(work));
  return CUDA_SUCCESS;
}
Result cuEventRecord(Event event, Stream) {
  ENTER;
  event->recorded = ++clockTicks;
  return CUDA_SUCCESS;
}
Result cuEventElapsedTime(float *milliseconds, Event from, Event to) {
  ENTER;
  *milliseconds = static_cast<float>(to->recorded - from->recorded);
  return CUDA_SUCCESS;
}
Result cuLinkCreate_v2(unsigned count, int *options, void **values, Link *link) {
  ENTER;
  *link = new LinkRecord;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      std::strcpy(static_cast<char *>(values[i]), "\n  line 3: unknown instruction\nmore\n");
  return CUDA_SUCCESS;
}
Result cuLinkAddData_v2(Link link, int, void *data, size_t bytes, const char *, unsigned, int *,
                        void **) {
  ENTER;
  link->text.assign(static_cast<const char *>(data), bytes - 1);
  return link->text.starts_with(".fake") ? CUDA_SUCCESS : 218;
}
Result cuLinkComplete(Link link, void **code, size_t *bytes) {
  ENTER;
  link->code = "compiled" + link->text;
  *code = link->code.data();
  *bytes = link->code.size();
  return CUDA_SUCCESS;
}
Result cuLinkDestroy(Link link) {
  ENTER;
  delete link;
  return CUDA_SUCCESS;
}
Result cuModuleLoadData(Module *module, const void *code) {
  ENTER;
  if (std::memcmp(code, "compiled", 8) != 0)
    return 200; // CUDA_ERROR_INVALID_IMAGE
  *module = new ModuleRecord;
  ++state.liveModules;
  return CUDA_SUCCESS;
}
Result cuModuleUnload(Module module) {
  ENTER;
  delete module;
  --state.liveModules;
  return CUDA_SUCCESS;
}
Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  ENTER;
  for (const auto &known : module->functions)
    if (known->name == name) {
      *function = known.get();
      return CUDA_SUCCESS;
    }
  for (const Known &known : knownFunctions)
    if (std::strcmp(known.name, name) == 0) {
      module->functions.push_back(std::make_unique<FunctionRecord>(
          FunctionRecord{name, known.parameters, known.maps, known.body}));
      *function = module->functions.back().get();
      return CUDA_SUCCESS;
    }
  return 500;
}
Result cuFuncGetAttribute(int *value, int which, Function function) {
  ENTER;
  bool spills = function->name == "multiply";
  *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 40 : spills ? 16 : 0;
  return CUDA_SUCCESS;
}
Result cuFuncSetAttribute(Function function, int, int value) {
  ENTER;
  function->sharedLimit = value;
  return CUDA_SUCCESS;
}
Result cuLaunchKernel(Function function, unsigned x, unsigned y, unsigned z, unsigned, unsigned,
                      unsigned, unsigned shared, Stream stream, void **parameters, void **) {
  ENTER;
  if (x * y * z == 0 || static_cast<int>(shared) > function->sharedLimit)
    return 1; // CUDA_ERROR_INVALID_VALUE
  submit(stream, makeWork(function, parameters));
  return CUDA_SUCCESS;
}
Result cuGraphInstantiateWithFlags(GraphExec *executable, Graph graph, unsigned long long) {
  ENTER;
  *executable = new GraphExecRecord;
  (*executable)->originals = graph->nodes;
  for (const auto &node : graph->nodes)
    (*executable)->work.push_back(node->work);
  return CUDA_SUCCESS;
}
Result cuGraphExecKernelNodeSetParams_v2(GraphExec executable, GraphNode node,
                                         const KernelNodeParameters *parameters) {
  ENTER;
  for (size_t i = 0; i < executable->originals.size(); ++i)
    if (executable->originals[i].get() == node) {
      executable->work[i] = makeWork(parameters->function, parameters->parameters);
      return CUDA_SUCCESS;
    }
  return 1;
}
Result cuGraphLaunch(GraphExec executable, Stream) {
  ENTER;
  for (const Work &work : executable->work)
    run(work);
  return CUDA_SUCCESS;
}
Result cuGraphDestroy(Graph graph) {
  ENTER;
  delete graph;
  --state.liveGraphs;
  return CUDA_SUCCESS;
}
Result cuGraphExecDestroy(GraphExec executable) {
  ENTER;
  delete executable;
  return CUDA_SUCCESS;
}
Result cuTensorMapEncodeTiled(TensorMap *map, int type, uint32_t rank, void *address,
                              const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *, int, int swizzle, int, int) {
  ENTER;
  uint64_t words[] = {reinterpret_cast<uint64_t>(address),
                      static_cast<uint64_t>(type),
                      rank,
                      dims[0],
                      dims[1],
                      strides[0],
                      box[0],
                      box[1],
                      static_cast<uint64_t>(swizzle)};
  std::copy(std::begin(words), std::end(words), map->words);
  return CUDA_SUCCESS;
}

#pragma GCC visibility pop
}
