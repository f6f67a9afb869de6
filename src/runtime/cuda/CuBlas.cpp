#include "runtime/cuda/CuBlas.h"

#include "runtime/Error.h"

#include <climits>
#include <dlfcn.h>
#include <map>

namespace headrace::cuda {

namespace {

// The part of cublas_api.h that is used.
using Handle = void *;
constexpr int plain = 0, transposed = 1;            // cublasOperation_t
constexpr int real32 = 0, real16 = 2, brain16 = 14; // cudaDataType
constexpr int compute32 = 68;                       // cublasComputeType_t
constexpr int anyAlgorithm = -1;                    // cublasGemmAlgo_t

struct CuBlas {
  int (*create)(Handle *) = nullptr;
  int (*setStream)(Handle, Stream) = nullptr;
  int (*setWorkspace)(Handle, void *, size_t) = nullptr;
  int (*gemm)(Handle, int transA, int transB, int m, int n, int k, const void *alpha, const void *a,
              int typeA, int lda, long long strideA, const void *b, int typeB, int ldb,
              long long strideB, const void *beta, void *c, int typeC, int ldc, long long strideC,
              int batch, int compute, int algorithm) = nullptr;
};

CuBlas load() {
  CuBlas blas;
  void *library = nullptr; // stays loaded
  for (const char *name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
    if (!library)
      library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return blas;
  CuBlas found;
  auto find = [&](auto &function, const char *name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
  };
  find(found.create, "cublasCreate_v2");
  find(found.setStream, "cublasSetStream_v2");
  find(found.setWorkspace, "cublasSetWorkspace_v2");
  find(found.gemm, "cublasGemmStridedBatchedEx");
  bool complete = found.create && found.setStream && found.setWorkspace && found.gemm;
  return complete ? found : blas;
}

const CuBlas &cuBlas() {
  static const CuBlas blas = load();
  return blas;
}

void check(int status, const Step &step) {
  if (status != 0)
    throw Error(ErrorKind::Unsupported,
                "step '" + step.name + "': cuBLAS failed with status " + std::to_string(status));
}

int typeOf(DType type, const Step &step) {
  switch (type) {
  case DType::F32:
    return real32;
  case DType::F16:
    return real16;
  case DType::BF16:
    return brain16;
  default:
    throw InternalError("step '" + step.name + "': cuBLAS has no product of this type");
  }
}

int narrow(int64_t value, const Step &step) {
  if (value < 0 || value > INT_MAX)
    throw Error(ErrorKind::Unsupported, "step '" + step.name +
                                            "': expected sizes below 2^31, got " +
                                            std::to_string(value));
  return static_cast<int>(value);
}

} // namespace

bool cuBlasAvailable() { return cuBlas().gemm != nullptr; }

void cuBlasGemm(const RoutineCall &call) {
  const Step &step = call.step;
  if (call.operands.size() != 3 || call.parameters.size() != 12)
    throw InternalError("step '" + step.name + "': gemm takes 3 operands and 12 parameters");
  const std::span<const int64_t> p = call.parameters;
  auto size = [&](size_t i) { return narrow(p[i], step); };
  int batch = size(0), m = size(1), n = size(2), k = size(3);
  if (batch == 0 || m == 0 || n == 0)
    return;

  // One handle a device, used by one thread at a time; never destroyed, as the driver goes first.
  static std::mutex mutex;
  static auto &handles = *new std::map<int, Handle>;
  std::lock_guard lock(mutex);
  const CuBlas &blas = cuBlas();
  Handle &handle = handles[call.device.number()];
  if (!handle)
    check(blas.create(&handle), step);
  check(blas.setStream(handle, call.stream), step);
  check(blas.setWorkspace(handle, reinterpret_cast<void *>(call.workspace),
                          static_cast<size_t>(routineWorkspaceBytes)),
        step);
  auto pointer = [&](size_t i) { return reinterpret_cast<void *>(call.operands[i]); };
  auto type = [&](size_t i) { return typeOf(call.types[i], step); };
  // Its matrices are column-major: theirs is our transposed one, so that B comes first.
  const float one = 1, zero = 0;
  check(blas.gemm(handle, p[5] ? transposed : plain, p[4] ? transposed : plain, n, m, k, &one,
                  pointer(1), type(1), size(10), p[7], pointer(0), type(0), size(9), p[6], &zero,
                  pointer(2), type(2), size(11), p[8], batch, compute32, anyAlgorithm),
        step);
}

} // namespace headrace::cuda
