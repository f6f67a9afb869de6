#include "runtime/cuda/CuDnn.h"

#include "runtime/cuda/VendorLibrary.h"
#include "runtime/system/Error.h"

namespace headrace::cuda {

namespace {

// The part of cudnn.h that is used.
using Handle = DeviceHandles::Handle;
using Descriptor = void *;
constexpr int channelsLast = 1;                           // cudnnTensorFormat_t
constexpr TypeCodes codes{.f32 = 0, .f16 = 2, .bf16 = 9}; // cudnnDataType_t
constexpr int crossCorrelation = 1;                       // cudnnConvolutionMode_t
constexpr int tensorMath = 1, plainMath = 3;              // cudnnMathType_t
struct AlgorithmRecord {                                  // cudnnConvolutionFwdAlgoPerf_t
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, mathType, reserved[3];
};

struct CuDnn {
  VendorLibrary library{"cuDNN", {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"}};
  int (*create)(Handle *) = nullptr;
  int (*setStream)(Handle, Stream) = nullptr;
  int (*createTensor)(Descriptor *) = nullptr;
  int (*setTensor)(Descriptor, int format, int type, int n, int c, int h, int w) = nullptr;
  int (*destroyTensor)(Descriptor) = nullptr;
  int (*createFilter)(Descriptor *) = nullptr;
  int (*setFilter)(Descriptor, int type, int format, int k, int c, int h, int w) = nullptr;
  int (*destroyFilter)(Descriptor) = nullptr;
  int (*createConvolution)(Descriptor *) = nullptr;
  int (*setConvolution)(Descriptor, int padH, int padW, int strideH, int strideW, int dilationH,
                        int dilationW, int mode, int type) = nullptr;
  int (*setMath)(Descriptor, int math) = nullptr;
  int (*destroyConvolution)(Descriptor) = nullptr;
  int (*findAlgorithms)(Handle, Descriptor x, Descriptor w, Descriptor convolution, Descriptor y,
                        int most, int *count, AlgorithmRecord *found) = nullptr;
  int (*forward)(Handle, const void *alpha, Descriptor, const void *x, Descriptor, const void *w,
                 Descriptor, int algorithm, void *workspace, size_t bytes, const void *beta,
                 Descriptor, void *y) = nullptr;
};

const CuDnn &cuDnn() {
  static const CuDnn dnn = [] {
    CuDnn found;
    found.library.find(found.create, "cudnnCreate");
    found.library.find(found.setStream, "cudnnSetStream");
    found.library.find(found.createTensor, "cudnnCreateTensorDescriptor");
    found.library.find(found.setTensor, "cudnnSetTensor4dDescriptor");
    found.library.find(found.destroyTensor, "cudnnDestroyTensorDescriptor");
    found.library.find(found.createFilter, "cudnnCreateFilterDescriptor");
    found.library.find(found.setFilter, "cudnnSetFilter4dDescriptor");
    found.library.find(found.destroyFilter, "cudnnDestroyFilterDescriptor");
    found.library.find(found.createConvolution, "cudnnCreateConvolutionDescriptor");
    found.library.find(found.setConvolution, "cudnnSetConvolution2dDescriptor");
    found.library.find(found.setMath, "cudnnSetConvolutionMathType");
    found.library.find(found.destroyConvolution, "cudnnDestroyConvolutionDescriptor");
    found.library.find(found.findAlgorithms, "cudnnGetConvolutionForwardAlgorithm_v7");
    found.library.find(found.forward, "cudnnConvolutionForward");
    return found;
  }();
  return dnn;
}

void check(int status, const Step &step) { cuDnn().library.check(status, step); }

/// The descriptions of one call.
struct Descriptions {
  explicit Descriptions(const Step &step) {
    const CuDnn &dnn = cuDnn();
    check(dnn.createTensor(&x), step);
    check(dnn.createTensor(&y), step);
    check(dnn.createFilter(&w), step);
    check(dnn.createConvolution(&convolution), step);
  }
  ~Descriptions() {
    const CuDnn &dnn = cuDnn();
    if (x)
      dnn.destroyTensor(x);
    if (y)
      dnn.destroyTensor(y);
    if (w)
      dnn.destroyFilter(w);
    if (convolution)
      dnn.destroyConvolution(convolution);
  }
  Descriptions(const Descriptions &) = delete;

  Descriptor x = nullptr, y = nullptr, w = nullptr, convolution = nullptr;
};

/// The fastest that fits into the workspace, as cuDNN estimates.
int chooseAlgorithm(Handle handle, const Descriptions &d, const Step &step) {
  constexpr int most = 8;
  AlgorithmRecord found[most];
  int count = 0;
  check(cuDnn().findAlgorithms(handle, d.x, d.w, d.convolution, d.y, most, &count, found), step);
  for (int i = 0; i < count; ++i)
    if (found[i].status == 0 && found[i].memory <= static_cast<size_t>(routineWorkspaceBytes))
      return found[i].algorithm;
  throw Error(ErrorKind::Unsupported,
              "step '" + step.name + "': cuDNN has no way to compute this convolution");
}

} // namespace

bool cuDnnAvailable() { return cuDnn().library.available(); }

void cuDnnConvolution(const RoutineCall &call) {
  const Step &step = call.step;
  if (call.operands.size() != 3 || call.parameters.size() != 13)
    throw InternalError("step '" + step.name + "': conv takes 3 operands and 13 parameters");
  std::vector<int> p;
  for (int64_t value : call.parameters)
    p.push_back(librarySize(value, step));
  int n = p[0], h = p[1], w = p[2], c = p[3], k = p[4], kh = p[5], kw = p[6], oh = p[7], ow = p[8];
  if (n == 0 || oh == 0 || ow == 0 || k == 0)
    return;

  const CuDnn &dnn = cuDnn();
  int type = codes.of(call.types[0], step);
  Descriptions d(step);
  check(dnn.setTensor(d.x, channelsLast, type, n, c, h, w), step);
  check(dnn.setFilter(d.w, type, channelsLast, k, c, kh, kw), step);
  check(dnn.setTensor(d.y, channelsLast, codes.of(call.types[2], step), n, k, oh, ow), step);
  check(dnn.setConvolution(d.convolution, 0, 0, p[9], p[10], p[11], p[12], crossCorrelation,
                           codes.f32),
        step);
  // In f32, sums and products are f32's own.
  check(dnn.setMath(d.convolution, type == codes.f32 ? plainMath : tensorMath), step);
  auto pointer = [&](size_t i) { return reinterpret_cast<void *>(call.operands[i]); };
  const float one = 1, zero = 0;
  static auto &handles = *new DeviceHandles;
  handles.with(
      call.device, [&](Handle *handle) { check(dnn.create(handle), step); },
      [&](Handle handle) {
        check(dnn.setStream(handle, call.stream), step);
        int algorithm = chooseAlgorithm(handle, d, step);
        check(dnn.forward(handle, &one, d.x, pointer(0), d.w, pointer(1), d.convolution, algorithm,
                          reinterpret_cast<void *>(call.workspace),
                          static_cast<size_t>(routineWorkspaceBytes), &zero, d.y, pointer(2)),
              step);
      });
}

} // namespace headrace::cuda
