// The part of NVIDIA's driver interface that is used, declared here and loaded at run time: neither
// building nor running on the host needs CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace headrace::cuda {

using Result = int;
using Address = unsigned long long; // CUdeviceptr
using DeviceNumber = int;           // CUdevice
struct ContextRecord;
struct ModuleRecord;
struct FunctionRecord;
struct StreamRecord;
struct EventRecord;
struct PoolRecord;
struct GraphRecord;
struct GraphNodeRecord;
struct GraphExecRecord;
struct LinkRecord;
using Context = ContextRecord *;
using Module = ModuleRecord *;
using Function = FunctionRecord *;
using Stream = StreamRecord *;
using Event = EventRecord *;
using Pool = PoolRecord *;
using Graph = GraphRecord *;
using GraphNode = GraphNodeRecord *;
using GraphExec = GraphExecRecord *;
using Link = LinkRecord *;

/// CUtensorMap: what the copy engine knows of a matrix.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParameters {
  Function function;
  unsigned grid[3], block[3], sharedBytes;
  void **parameters, **extra;
  void *kernel;
  Context context;
};

/// CUmemPoolProps
struct PoolProperties {
  int allocationType = 1; // pinned
  int handleTypes = 0;
  int locationType = 1; // a device
  int location = 0;
  void *securityAttributes = nullptr;
  size_t maxSize = 0;
  unsigned char reserved[56] = {};
};

// Enumerators by their names in cuda.h.
inline constexpr Result CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NO_DEVICE = 100,
                        CUDA_ERROR_NOT_READY = 600;
inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
                     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
                     CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115;
inline constexpr int CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3, CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
inline constexpr int CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;
inline constexpr unsigned CU_MEMORYTYPE_DEVICE = 2;
inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr int CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;
inline constexpr unsigned CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1;
inline constexpr int CU_STREAM_CAPTURE_MODE_RELAXED = 2, CU_STREAM_CAPTURE_STATUS_NONE = 0;
inline constexpr unsigned CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2,
                          CU_EVENT_RECORD_EXTERNAL = 1;
inline constexpr int CU_JIT_INFO_LOG_BUFFER = 3, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
                     CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
                     CU_JIT_INPUT_PTX = 1;

/// The names are the driver's own.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEADRACE_CUDA_FUNCTIONS(X)                                                                 \
  X(cuInit, Result(unsigned))                                                                      \
  X(cuDriverGetVersion, Result(int *))                                                             \
  X(cuGetErrorName, Result(Result, const char **))                                                 \
  X(cuDeviceGetCount, Result(int *))                                                               \
  X(cuDeviceGet, Result(DeviceNumber *, int))                                                      \
  X(cuDeviceGetName, Result(char *, int, DeviceNumber))                                            \
  X(cuDeviceGetAttribute, Result(int *, int, DeviceNumber))                                        \
  X(cuDevicePrimaryCtxRetain, Result(Context *, DeviceNumber))                                     \
  X(cuCtxPushCurrent_v2, Result(Context))                                                          \
  X(cuCtxPopCurrent_v2, Result(Context *))                                                         \
  X(cuCtxSynchronize, Result())                                                                    \
  X(cuMemHostAlloc, Result(void **, size_t, unsigned))                                             \
  X(cuMemFreeHost, Result(void *))                                                                 \
  X(cuMemPoolCreate, Result(Pool *, const PoolProperties *))                                       \
  X(cuMemPoolSetAttribute, Result(Pool, int, void *))                                              \
  X(cuMemPoolTrimTo, Result(Pool, size_t))                                                         \
  X(cuMemAllocFromPoolAsync, Result(Address *, size_t, Pool, Stream))                              \
  X(cuMemFreeAsync, Result(Address, Stream))                                                       \
  X(cuMemcpyHtoDAsync_v2, Result(Address, const void *, size_t, Stream))                           \
  X(cuMemcpyDtoHAsync_v2, Result(void *, Address, size_t, Stream))                                 \
  X(cuMemcpyDtoDAsync_v2, Result(Address, Address, size_t, Stream))                                \
  X(cuPointerGetAttribute, Result(void *, int, Address))                                           \
  X(cuStreamCreate, Result(Stream *, unsigned))                                                    \
  X(cuStreamDestroy_v2, Result(Stream))                                                            \
  X(cuStreamSynchronize, Result(Stream))                                                           \
  X(cuStreamWaitEvent, Result(Stream, Event, unsigned))                                            \
  X(cuStreamBeginCapture_v2, Result(Stream, int))                                                  \
  X(cuStreamEndCapture, Result(Stream, Graph *))                                                   \
  X(cuThreadExchangeStreamCaptureMode, Result(int *))                                              \
  X(cuStreamGetCaptureInfo_v2,                                                                     \
    Result(Stream, int *, uint64_t *, Graph *, const GraphNode **, size_t *))                      \
  X(cuEventCreate, Result(Event *, unsigned))                                                      \
  X(cuEventDestroy_v2, Result(Event))                                                              \
  X(cuEventRecord, Result(Event, Stream))                                                          \
  X(cuEventRecordWithFlags, Result(Event, Stream, unsigned))                                       \
  X(cuEventElapsedTime, Result(float *, Event, Event))                                             \
  X(cuLinkCreate_v2, Result(unsigned, int *, void **, Link *))                                     \
  X(cuLinkAddData_v2, Result(Link, int, void *, size_t, const char *, unsigned, int *, void **))   \
  X(cuLinkComplete, Result(Link, void **, size_t *))                                               \
  X(cuLinkDestroy, Result(Link))                                                                   \
  X(cuModuleLoadData, Result(Module *, const void *))                                              \
  X(cuModuleUnload, Result(Module))                                                                \
  X(cuModuleGetFunction, Result(Function *, Module, const char *))                                 \
  X(cuFuncGetAttribute, Result(int *, int, Function))                                              \
  X(cuFuncSetAttribute, Result(Function, int, int))                                                \
  X(cuLaunchKernel, Result(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
                           unsigned, Stream, void **, void **))                                    \
  X(cuGraphInstantiateWithFlags, Result(GraphExec *, Graph, unsigned long long))                   \
  X(cuGraphExecKernelNodeSetParams_v2, Result(GraphExec, GraphNode, const KernelNodeParameters *)) \
  X(cuGraphLaunch, Result(GraphExec, Stream))                                                      \
  X(cuGraphDestroy, Result(Graph))                                                                 \
  X(cuGraphExecDestroy, Result(GraphExec))                                                         \
  X(cuTensorMapEncodeTiled,                                                                        \
    Result(TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *,                 \
           const uint32_t *, const uint32_t *, int, int, int, int))
// NOLINTEND(bugprone-macro-parentheses)

/// The functions of libcuda.so.1, found at run time.
struct Driver {
#define HEADRACE_CUDA_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  HEADRACE_CUDA_FUNCTIONS(HEADRACE_CUDA_MEMBER)
#undef HEADRACE_CUDA_MEMBER
  int version = 0; // 12040 is CUDA 12.4
};

/// The driver, loaded at first use from HEADRACE_CUDA_DRIVER, else libcuda.so.1. Throws Error in
/// one line if there is none, or one older than CUDA 12.0.
const Driver &driver();

/// Throws Error naming the driver's error and what was being done, unless it is a success.
void check(Result result, const std::string &what);

} // namespace headrace::cuda
