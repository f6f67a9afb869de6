#include "runtime/cuda/FakeDriver.h"

#include "runtime/cuda/FakeDevice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace headrace::cuda;

static headrace::test::FakeDriver state;
extern "C" __attribute__((visibility("default"))) headrace::test::FakeDriver *fakeDriver() {
  return &state;
}

namespace {

std::recursive_mutex mutex;
std::map<Address, size_t> allocations;
thread_local int contexts = 0;
int clockTicks = 0;

/// An entry point: counts the call and returns the error that a test asked for, else does what it
/// is for. `body` returns nothing if it always succeeds.
template <class Body> Result call(const char *name, Body body) {
  std::lock_guard lock(mutex);
  ++state.calls[name];
  if (auto failure = state.failures.extract(name))
    return failure.mapped();
  if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
    body();
    return CUDA_SUCCESS;
  } else {
    return body();
  }
}
/// An entry point without any effect here.
Result accept(const char *name) {
  return call(name, [] {});
}

template <class Record> void create(Record **handle, int &live) {
  *handle = new Record;
  ++live;
}
template <class Record> void destroy(Record *handle, int &live) {
  delete handle;
  --live;
}

Work other(std::function<void()> action) {
  Work work;
  work.other = std::move(action);
  return work;
}
void copy(void *to, const void *from, size_t bytes, Stream stream) {
  submit(stream, other([=] { std::memcpy(to, from, bytes); }));
}

} // namespace

extern "C" {
#pragma GCC visibility push(default)

Result cuInit(unsigned) {
  return call(__func__, [&] { return state.devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; });
}
Result cuDriverGetVersion(int *version) {
  return call(__func__, [&] {
    // Tests of a fresh process have no other way in.
    const char *given = std::getenv("FAKE_CUDA_VERSION");
    *version = given ? std::atoi(given) : state.version;
  });
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
  return call(__func__, [&] { *count = state.devices; });
}
Result cuDeviceGet(DeviceNumber *device, int number) {
  return call(__func__, [&] { *device = number; });
}
Result cuDeviceGetName(char *name, int length, DeviceNumber) {
  return call(__func__, [&] { std::strncpy(name, "Fake H200", static_cast<size_t>(length)); });
}
Result cuDeviceGetAttribute(int *value, int which, DeviceNumber) {
  return call(__func__, [&] {
    *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
             : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
             : which == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED   ? 1
                                                                     : 227 << 10;
  });
}
Result cuDevicePrimaryCtxRetain(Context *context, DeviceNumber) {
  return call(__func__, [&] {
    static ContextRecord only;
    *context = &only;
  });
}
Result cuCtxPushCurrent_v2(Context) {
  return call(__func__, [&] { ++contexts; });
}
Result cuCtxPopCurrent_v2(Context *) {
  return call(__func__, [&] { --contexts; });
}
Result cuCtxSynchronize() { return accept(__func__); }
Result cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  return call(__func__, [&] {
    *memory = std::malloc(bytes);
    ++state.liveHostMemory;
  });
}
Result cuMemFreeHost(void *memory) {
  return call(__func__, [&] {
    std::free(memory);
    --state.liveHostMemory;
  });
}
Result cuMemPoolCreate(Pool *pool, const PoolProperties *) {
  return call(__func__, [&] {
    static PoolRecord only;
    *pool = &only;
  });
}
Result cuMemPoolSetAttribute(Pool, int, void *) { return accept(__func__); }
Result cuMemPoolTrimTo(Pool, size_t) { return accept(__func__); }
Result cuMemAllocFromPoolAsync(Address *address, size_t bytes, Pool, Stream) {
  return call(__func__, [&]() -> Result {
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
  });
}
Result cuMemFreeAsync(Address address, Stream) {
  return call(__func__, [&] {
    state.memoryUsed -= static_cast<int64_t>(allocations[address]);
    allocations.erase(address);
    std::free(reinterpret_cast<void *>(address));
  });
}
Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream stream) {
  return call(__func__, [&] { copy(reinterpret_cast<void *>(to), from, bytes, stream); });
}
Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream stream) {
  return call(__func__, [&] { copy(to, reinterpret_cast<const void *>(from), bytes, stream); });
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  return call(__func__, [&] {
    copy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes, stream);
  });
}
Result cuPointerGetAttribute(void *value, int which, Address address) {
  return call(__func__, [&]() -> Result {
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin() || (--after)->first + after->second <= address)
      return 1;
    *static_cast<unsigned *>(value) = which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? 2 : 0;
    return CUDA_SUCCESS;
  });
}
Result cuStreamCreate(Stream *stream, unsigned) {
  return call(__func__, [&] { create(stream, state.liveStreams); });
}
Result cuStreamDestroy_v2(Stream stream) {
  return call(__func__, [&] { destroy(stream, state.liveStreams); });
}
Result cuStreamSynchronize(Stream) { return accept(__func__); }
Result cuStreamWaitEvent(Stream, Event, unsigned) { return accept(__func__); }
Result cuStreamBeginCapture_v2(Stream stream, int) {
  return call(__func__, [&] { create(&streamOf(stream).recording, state.liveGraphs); });
}
Result cuStreamEndCapture(Stream stream, Graph *graph) {
  return call(__func__, [&] {
    *graph = streamOf(stream).recording;
    streamOf(stream).recording = nullptr;
  });
}
Result cuThreadExchangeStreamCaptureMode(int *mode) {
  static thread_local int current = 0;
  return call(__func__, [&] { std::swap(*mode, current); });
}
Result cuStreamGetCaptureInfo_v2(Stream stream, int *status, uint64_t *, Graph *graph,
                                 const GraphNode **nodes, size_t *count) {
  return call(__func__, [&] {
    *status = streamOf(stream).recording ? 1 : 0;
    if (!graph)
      return;
    *graph = streamOf(stream).recording;
    *nodes = &streamOf(stream).last;
    *count = 1;
  });
}
Result cuEventCreate(Event *event, unsigned) {
  return call(__func__, [&] { create(event, state.liveEvents); });
}
Result cuEventDestroy_v2(Event event) {
  return call(__func__, [&] { destroy(event, state.liveEvents); });
}
Result cuEventRecordWithFlags(Event event, Stream stream, unsigned) {
  return call(__func__, [&] { submit(stream, other([=] { event->recorded = ++clockTicks; })); });
}
Result cuEventRecord(Event event, Stream) {
  return call(__func__, [&] { event->recorded = ++clockTicks; });
}
Result cuEventElapsedTime(float *milliseconds, Event from, Event to) {
  return call(__func__, [&] { *milliseconds = static_cast<float>(to->recorded - from->recorded); });
}
Result cuLinkCreate_v2(unsigned count, int *options, void **values, Link *link) {
  return call(__func__, [&] {
    *link = new LinkRecord;
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        std::strcpy(static_cast<char *>(values[i]), "\n  line 3: unknown instruction\nmore\n");
  });
}
Result cuLinkAddData_v2(Link link, int, void *data, size_t bytes, const char *, unsigned, int *,
                        void **) {
  return call(__func__, [&] {
    link->text.assign(static_cast<const char *>(data), bytes - 1);
    bool isKnown =
        link->text.starts_with(".fake") || link->text.find("headrace_check") != std::string::npos;
    return isKnown ? CUDA_SUCCESS : 218;
  });
}
Result cuLinkComplete(Link link, void **code, size_t *bytes) {
  return call(__func__, [&] {
    link->code = "compiled" + link->text;
    *code = link->code.data();
    *bytes = link->code.size();
  });
}
Result cuLinkDestroy(Link link) {
  return call(__func__, [&] { delete link; });
}
Result cuModuleLoadData(Module *module, const void *code) {
  return call(__func__, [&]() -> Result {
    if (std::memcmp(code, "compiled", 8) != 0)
      return 200; // CUDA_ERROR_INVALID_IMAGE
    create(module, state.liveModules);
    return CUDA_SUCCESS;
  });
}
Result cuModuleUnload(Module module) {
  return call(__func__, [&] { destroy(module, state.liveModules); });
}
Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  return call(__func__, [&] {
    *function = findFunction(module, name);
    return *function ? CUDA_SUCCESS : 500;
  });
}
Result cuFuncGetAttribute(int *value, int which, Function function) {
  return call(__func__, [&] {
    bool spills = function->name == "multiply";
    *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 40 : spills ? 16 : 0;
  });
}
Result cuFuncSetAttribute(Function function, int, int value) {
  return call(__func__, [&] { function->sharedLimit = value; });
}
Result cuLaunchKernel(Function function, unsigned x, unsigned y, unsigned z, unsigned, unsigned,
                      unsigned, unsigned shared, Stream stream, void **parameters, void **) {
  return call(__func__, [&]() -> Result {
    if (x * y * z == 0 || static_cast<int>(shared) > function->sharedLimit)
      return 1; // CUDA_ERROR_INVALID_VALUE
    submit(stream, makeWork(function, parameters));
    return CUDA_SUCCESS;
  });
}
Result cuGraphInstantiateWithFlags(GraphExec *executable, Graph graph, unsigned long long) {
  return call(__func__, [&] {
    *executable = new GraphExecRecord;
    (*executable)->originals = graph->nodes;
    for (const auto &node : graph->nodes)
      (*executable)->work.push_back(node->work);
  });
}
Result cuGraphExecKernelNodeSetParams_v2(GraphExec executable, GraphNode node,
                                         const KernelNodeParameters *parameters) {
  return call(__func__, [&]() -> Result {
    for (size_t i = 0; i < executable->originals.size(); ++i)
      if (executable->originals[i].get() == node) {
        executable->work[i] = makeWork(parameters->function, parameters->parameters);
        return CUDA_SUCCESS;
      }
    return 1;
  });
}
Result cuGraphLaunch(GraphExec executable, Stream) {
  return call(__func__, [&] {
    for (const Work &work : executable->work)
      run(work);
  });
}
Result cuGraphDestroy(Graph graph) {
  return call(__func__, [&] { destroy(graph, state.liveGraphs); });
}
Result cuGraphExecDestroy(GraphExec executable) {
  return call(__func__, [&] { delete executable; });
}
Result cuTensorMapEncodeTiled(TensorMap *map, int type, uint32_t rank, void *address,
                              const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *, int, int swizzle, int, int) {
  return call(__func__, [&] {
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
  });
}

#pragma GCC visibility pop
}
