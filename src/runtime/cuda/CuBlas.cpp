#include "runtime/cuda/CuBlas.h"

#include "runtime/cuda/VendorLibrary.h"
#include "runtime/system/Error.h"

namespace headrace::cuda {

namespace {

// The part of cublas_api.h that is used.
using Handle = DeviceHandles::Handle;
constexpr int plain = 0, transposed = 1;                   // cublasOperation_t
constexpr TypeCodes codes{.f32 = 0, .f16 = 2, .bf16 = 14}; // cudaDataType
constexpr int compute32 = 68;                              // cublasComputeType_t
constexpr int anyAlgorithm = -1;                           // cublasGemmAlgo_t

struct CuBlas {
  VendorLibrary library{"cuBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}};
  int (*create)(Handle *) = nullptr;
  int (*setStream)(Handle, Stream) = nullptr;
  int (*setWorkspace)(Handle, void *, size_t) = nullptr;
  int (*gemm)(Handle, int transA, int transB, int m, int n, int k, const void *alpha, const void *a,
              int typeA, int lda, long long strideA, const void *b, int typeB, int ldb,
              long long strideB, const void *beta, void *c, int typeC, int ldc, long long strideC,
              int batch, int compute, int algorithm) = nullptr;
};

const CuBlas &cuBlas() {
  static const CuBlas blas = [] {
    CuBlas found;
    found.library.find(found.create, "cublasCreate_v2");
    found.library.find(found.setStream, "cublasSetStream_v2");
    found.library.find(found.setWorkspace, "cublasSetWorkspace_v2");
    found.library.find(found.gemm, "cublasGemmStridedBatchedEx");
    return found;
  }();
  return blas;
}

} // namespace

bool cuBlasAvailable() { return cuBlas().library.available(); }

void cuBlasGemm(const RoutineCall &call) {
  const Step &step = call.step;
  if (call.operands.size() != 3 || call.parameters.size() != 12)
    throw InternalError("step '" + step.name + "': gemm takes 3 operands and 12 parameters");
  const std::span<const int64_t> p = call.parameters;
  auto size = [&](size_t i) { return librarySize(p[i], step); };
  int batch = size(0), m = size(1), n = size(2), k = size(3);
  if (batch == 0 || m == 0 || n == 0)
    return;

  const CuBlas &blas = cuBlas();
  auto check = [&](int status) { blas.library.check(status, step); };
  auto pointer = [&](size_t i) { return reinterpret_cast<void *>(call.operands[i]); };
  auto type = [&](size_t i) { return codes.of(call.types[i], step); };
  // Its matrices are column-major: theirs is our transposed one, so that B comes first.
  const float one = 1, zero = 0;
  static auto &handles = *new DeviceHandles;
  handles.with(
      call.device, [&](Handle *handle) { check(blas.create(handle)); },
      [&](Handle handle) {
        check(blas.setStream(handle, call.stream));
        check(blas.setWorkspace(handle, reinterpret_cast<void *>(call.workspace),
                                static_cast<size_t>(routineWorkspaceBytes)));
        check(blas.gemm(handle, p[5] ? transposed : plain, p[4] ? transposed : plain, n, m, k, &one,
                        pointer(1), type(1), size(10), p[7], pointer(0), type(0), size(9), p[6],
                        &zero, pointer(2), type(2), size(11), p[8], batch, compute32,
                        anyAlgorithm));
      });
}

} // namespace headrace::cuda
