// A call is a graph of operations on tensors of descriptors; cuDNN proposes engines for it, the
// best first, and compiles the code of some of them when a plan is made. Plans are kept.
#include "runtime/cuda/CuDnnGraph.h"

#include "runtime/cuda/VendorLibrary.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace headrace::cuda {

namespace {

using Handle = DeviceHandles::Handle;
using BackendDescriptor = void *;
constexpr TypeCodes codes{.f32 = 0, .f16 = 2, .bf16 = 9}; // cudnnDataType_t

// Enumerators of cudnn_graph.h.
enum Kind : int {
  Pointwise = 0,
  Convolution = 1,
  EngineConfiguration = 3,
  Heuristics = 4,
  ExecutionPlan = 5,
  ConvolutionForward = 10,
  PointwiseOperation = 13,
  OperationGraph = 15,
  VariantPack = 16,
  TensorDescription = 17,
};
enum Type : int {
  OfHandle = 0,
  OfDataType = 1,
  OfBoolean = 2,
  OfInteger = 3,
  OfFloat = 4,
  OfDouble = 5,
  OfPointer = 6,
  OfConvolutionMode = 7,
  OfHeuristicMode = 8,
  OfNanPropagation = 10,
  OfPointwiseMode = 14,
  OfDescriptor = 15,
};
enum Attribute : int {
  PointwiseMode = 0,
  PointwisePrecision = 1,
  PointwiseNan = 2,
  PointwiseUpperClip = 4,
  ConvolutionType = 100,
  ConvolutionMode = 101,
  ConvolutionDilations = 102,
  ConvolutionStrides = 103,
  ConvolutionPostPadding = 104,
  ConvolutionPrePadding = 105,
  ConvolutionDimensions = 106,
  HeuristicMode = 200,
  HeuristicGraph = 201,
  HeuristicResults = 202,
  PlanHandle = 400,
  PlanConfiguration = 401,
  PlanWorkspace = 402,
  ForwardAlpha = 700,
  ForwardBeta = 701,
  ForwardConvolution = 702,
  ForwardFilter = 703,
  ForwardImage = 704,
  ForwardResult = 705,
  PointwiseDescription = 750,
  PointwiseInput = 751,
  PointwiseOther = 752,
  PointwiseResult = 753,
  GraphHandle = 800,
  GraphOperations = 801,
  TensorAlignment = 900,
  TensorType = 901,
  TensorDimensions = 902,
  TensorStrides = 903,
  TensorId = 906,
  TensorIsVirtual = 907,
  PackIds = 1000,
  PackPointers = 1001,
  PackWorkspace = 1003,
};
constexpr int crossCorrelation = 1, propagateNan = 1;
constexpr int modeAdd = 0, modeRelu = 100, modeGelu = 104, modeSwish = 106;
constexpr int heuristicsByModel = 3, heuristicsOfFallback = 2;

struct CuDnnBackend {
  VendorLibrary library{"cuDNN", {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"}};
  int (*create)(Handle *) = nullptr;
  int (*setStream)(Handle, Stream) = nullptr;
  int (*createDescriptor)(int kind, BackendDescriptor *) = nullptr;
  int (*destroyDescriptor)(BackendDescriptor) = nullptr;
  int (*finalize)(BackendDescriptor) = nullptr;
  int (*set)(BackendDescriptor, int attribute, int type, int64_t count,
             const void *values) = nullptr;
  int (*get)(BackendDescriptor, int attribute, int type, int64_t most, int64_t *count,
             void *values) = nullptr;
  int (*execute)(Handle, BackendDescriptor plan, BackendDescriptor pack) = nullptr;
};

const CuDnnBackend &backend() {
  static const CuDnnBackend dnn = [] {
    CuDnnBackend found;
    found.library.find(found.create, "cudnnCreate");
    found.library.find(found.setStream, "cudnnSetStream");
    found.library.find(found.createDescriptor, "cudnnBackendCreateDescriptor");
    found.library.find(found.destroyDescriptor, "cudnnBackendDestroyDescriptor");
    found.library.find(found.finalize, "cudnnBackendFinalize");
    found.library.find(found.set, "cudnnBackendSetAttribute");
    found.library.find(found.get, "cudnnBackendGetAttribute");
    found.library.find(found.execute, "cudnnBackendExecute");
    return found;
  }();
  return dnn;
}

/// A descriptor: attributes are set, then it is finished.
class Descriptor {
public:
  Descriptor(Kind kind, const Step &step) : step(&step) {
    check(backend().createDescriptor(kind, &handle));
  }
  ~Descriptor() {
    if (handle)
      backend().destroyDescriptor(handle);
  }
  Descriptor(Descriptor &&other) noexcept : step(other.step), handle(other.handle) {
    other.handle = nullptr;
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(Descriptor &&) = delete;

  template <class Value>
  void set(Attribute attribute, Type type, std::initializer_list<Value> values) {
    set(attribute, type, std::span<const Value>(values.begin(), values.size()));
  }
  template <class Value> void set(Attribute attribute, Type type, std::span<const Value> values) {
    check(
        backend().set(handle, attribute, type, static_cast<int64_t>(values.size()), values.data()));
  }
  void set(Attribute attribute, const Descriptor &other) {
    check(backend().set(handle, attribute, OfDescriptor, 1, &other.handle));
  }
  void finish() { check(backend().finalize(handle)); }
  /// Whether cuDNN supports what it describes.
  bool canFinish() { return backend().finalize(handle) == 0; }
  BackendDescriptor raw() const { return handle; }

private:
  void check(int status) const { backend().library.check(status, *step); }

  const Step *step;
  BackendDescriptor handle = nullptr;
};

/// The parameters of "cudnn.convolution", by name.
struct FusedConvolution {
  FusedConvolution(const RoutineCall &call) {
    if (call.parameters.size() != 20)
      throw InternalError("step '" + call.step.name + "': convolution takes 20 parameters");
    const std::span<const int64_t> p = call.parameters;
    n = p[0], h = p[1], w = p[2], c = p[3], k = p[4], kh = p[5], kw = p[6], oh = p[7], ow = p[8];
    strides = {p[9], p[10]}, dilations = {p[11], p[12]};
    low = {p[13], p[14]}, high = {p[15], p[16]};
    bias = p[17] != 0, residual = p[18] != 0;
    activation = static_cast<CuDnnActivation>(p[19]);
    if (call.operands.size() != 3U + static_cast<size_t>(bias) + static_cast<size_t>(residual))
      throw InternalError("step '" + call.step.name + "': convolution takes " +
                          std::to_string(3 + bias + residual) + " operands");
  }
  bool isEmpty() const { return n == 0 || oh == 0 || ow == 0 || k == 0; }

  int64_t n, h, w, c, k, kh, kw, oh, ow;
  std::array<int64_t, 2> strides, dilations, low, high;
  bool bias, residual;
  CuDnnActivation activation;
};

/// Tensors of a graph by the order of the step's operands, from 1 on.
constexpr int64_t firstInner = 100;

/// A graph being written; its descriptors live until the plan is made.
class GraphWriter {
public:
  GraphWriter(const RoutineCall &call, const FusedConvolution &shape)
      : call(call), step(call.step), shape(shape) {}

  BackendDescriptor write(Handle handle) {
    size_t results = call.operands.size() - 1;
    int type = codes.of(call.types[0], step);
    image = tensor({shape.n, shape.c, shape.h, shape.w}, type, 1);
    size_t filter = tensor({shape.k, shape.c, shape.kh, shape.kw}, type, 2);
    operations.push_back({ConvolutionForward, 0, filter});
    size_t operand = 2;
    if (shape.bias) {
      size_t bias = tensor({1, shape.k, 1, 1}, codes.of(call.types[operand], step),
                           static_cast<int64_t>(operand) + 1);
      operations.push_back({PointwiseOperation, modeAdd, bias});
      ++operand;
    }
    if (shape.residual) {
      size_t residual =
          tensor({shape.n, shape.k, shape.oh, shape.ow}, codes.of(call.types[operand], step),
                 static_cast<int64_t>(operand) + 1);
      operations.push_back({PointwiseOperation, modeAdd, residual});
    }
    switch (shape.activation) {
    case CuDnnActivation::None:
      break;
    case CuDnnActivation::Relu:
    case CuDnnActivation::Relu6:
      operations.push_back({PointwiseOperation, modeRelu, {}});
      break;
    case CuDnnActivation::Swish:
      operations.push_back({PointwiseOperation, modeSwish, {}});
      break;
    case CuDnnActivation::Gelu:
      operations.push_back({PointwiseOperation, modeGelu, {}});
      break;
    }
    return finishOperations(handle, results);
  }

private:
  /// An operation on what the one before it yields, and on another tensor.
  struct Operation {
    Kind kind;
    int mode;
    std::optional<size_t> other;
  };

  /// A tensor with its channels last.
  size_t tensor(std::array<int64_t, 4> dims, int type, int64_t id, bool isVirtual = false) {
    Descriptor &d = descriptors.emplace_back(TensorDescription, step);
    auto [n, c, h, w] = dims;
    d.set<int>(TensorType, OfDataType, {type});
    d.set<int64_t>(TensorDimensions, OfInteger, {n, c, h, w});
    d.set<int64_t>(TensorStrides, OfInteger, {h * w * c, 1, w * c, c});
    d.set<int64_t>(TensorId, OfInteger, {id});
    d.set<int64_t>(TensorAlignment, OfInteger, {16});
    if (isVirtual)
      d.set<bool>(TensorIsVirtual, OfBoolean, {true});
    d.finish();
    return descriptors.size() - 1;
  }

  BackendDescriptor finishOperations(Handle handle, size_t resultOperand) {
    std::vector<BackendDescriptor> raw;
    size_t before = 0;
    for (size_t i = 0; i < operations.size(); ++i) {
      const Operation &operation = operations[i];
      bool isLast = i + 1 == operations.size();
      std::array<int64_t, 4> dims{shape.n, shape.k, shape.oh, shape.ow};
      size_t result = isLast ? tensor(dims, codes.of(call.types[resultOperand], step),
                                      static_cast<int64_t>(resultOperand) + 1)
                             : tensor(dims, codes.f32, firstInner + static_cast<int64_t>(i), true);
      raw.push_back(operation.kind == ConvolutionForward
                        ? writeConvolution(operation, result)
                        : writePointwise(operation, before, result));
      before = result;
    }
    Descriptor &graph = descriptors.emplace_back(OperationGraph, step);
    graph.set<Handle>(GraphHandle, OfHandle, {handle});
    graph.set(GraphOperations, OfDescriptor, std::span<const BackendDescriptor>(raw));
    graph.finish();
    return graph.raw();
  }

  BackendDescriptor writeConvolution(const Operation &operation, size_t result) {
    Descriptor &d = descriptors.emplace_back(Convolution, step);
    d.set<int>(ConvolutionType, OfDataType, {codes.f32});
    d.set<int>(ConvolutionMode, OfConvolutionMode, {crossCorrelation});
    d.set<int64_t>(ConvolutionDimensions, OfInteger, {2});
    d.set(ConvolutionDilations, OfInteger, std::span<const int64_t>(shape.dilations));
    d.set(ConvolutionStrides, OfInteger, std::span<const int64_t>(shape.strides));
    d.set(ConvolutionPrePadding, OfInteger, std::span<const int64_t>(shape.low));
    d.set(ConvolutionPostPadding, OfInteger, std::span<const int64_t>(shape.high));
    d.finish();
    size_t description = descriptors.size() - 1;
    Descriptor &o = descriptors.emplace_back(ConvolutionForward, step);
    o.set<float>(ForwardAlpha, OfFloat, {1.0F});
    o.set<float>(ForwardBeta, OfFloat, {0.0F});
    o.set(ForwardConvolution, descriptors[description]);
    o.set(ForwardFilter, descriptors[*operation.other]);
    o.set(ForwardImage, descriptors[image]);
    o.set(ForwardResult, descriptors[result]);
    o.finish();
    return o.raw();
  }

  BackendDescriptor writePointwise(const Operation &operation, size_t input, size_t result) {
    Descriptor &d = descriptors.emplace_back(Pointwise, step);
    d.set<int>(PointwiseMode, OfPointwiseMode, {operation.mode});
    d.set<int>(PointwisePrecision, OfDataType, {codes.f32});
    if (operation.mode == modeRelu) {
      d.set<int>(PointwiseNan, OfNanPropagation, {propagateNan});
      if (shape.activation == CuDnnActivation::Relu6)
        d.set<double>(PointwiseUpperClip, OfDouble, {6.0});
    }
    d.finish();
    size_t description = descriptors.size() - 1;
    Descriptor &o = descriptors.emplace_back(PointwiseOperation, step);
    o.set(PointwiseDescription, descriptors[description]);
    o.set(PointwiseInput, descriptors[input]);
    if (operation.other)
      o.set(PointwiseOther, descriptors[*operation.other]);
    o.set(PointwiseResult, descriptors[result]);
    o.finish();
    return o.raw();
  }

  const RoutineCall &call;
  const Step &step;
  const FusedConvolution &shape;
  size_t image = 0;
  std::vector<Operation> operations;
  std::deque<Descriptor> descriptors;
};

/// What a call runs.
struct Plan {
  Descriptor plan;
};

/// The first engine that cuDNN proposes and that works with the workspace there is.
std::shared_ptr<Plan> makePlan(Handle handle, const RoutineCall &call,
                               const FusedConvolution &shape) {
  const CuDnnBackend &dnn = backend();
  GraphWriter writer(call, shape);
  BackendDescriptor graph = writer.write(handle);
  for (int mode : {heuristicsByModel, heuristicsOfFallback}) {
    Descriptor heuristics(Heuristics, call.step);
    heuristics.set<BackendDescriptor>(HeuristicGraph, OfDescriptor, {graph});
    heuristics.set<int>(HeuristicMode, OfHeuristicMode, {mode});
    if (!heuristics.canFinish())
      continue;
    constexpr int64_t most = 8;
    std::vector<Descriptor> configurations;
    std::array<BackendDescriptor, most> raw{};
    for (BackendDescriptor &each : raw)
      each = configurations.emplace_back(EngineConfiguration, call.step).raw();
    int64_t count = 0;
    if (dnn.get(heuristics.raw(), HeuristicResults, OfDescriptor, most, &count, raw.data()) != 0)
      continue;
    for (int64_t i = 0; i < std::min(count, most); ++i) {
      Descriptor plan(ExecutionPlan, call.step);
      plan.set<Handle>(PlanHandle, OfHandle, {handle});
      plan.set<BackendDescriptor>(PlanConfiguration, OfDescriptor, {raw[static_cast<size_t>(i)]});
      int64_t bytes = 0, found = 0;
      if (plan.canFinish() &&
          dnn.get(plan.raw(), PlanWorkspace, OfInteger, 1, &found, &bytes) == 0 &&
          bytes <= routineWorkspaceBytes)
        return std::make_shared<Plan>(Plan{std::move(plan)});
    }
  }
  throw Error(ErrorKind::Unsupported,
              "step '" + call.step.name + "': cuDNN has no way to compute this convolution");
}

/// Plans by device, types and sizes, and handles for threads that make some.
class Plans {
public:
  std::shared_ptr<Plan> find(const RoutineCall &call, const FusedConvolution &shape) {
    std::vector<int64_t> key{call.device.number()};
    key.insert(key.end(), call.parameters.begin(), call.parameters.end());
    for (DType type : call.types)
      key.push_back(static_cast<int64_t>(type));
    {
      std::lock_guard lock(mutex);
      if (auto found = plans.find(key); found != plans.end())
        return found->second;
    }
    Handle handle = take(call);
    std::shared_ptr<Plan> plan = makePlan(handle, call, shape);
    std::lock_guard lock(mutex);
    idle[call.device.number()].push_back(handle);
    return plans.emplace(key, plan).first->second;
  }

private:
  Handle take(const RoutineCall &call) {
    {
      std::lock_guard lock(mutex);
      std::vector<Handle> &handles = idle[call.device.number()];
      if (!handles.empty()) {
        Handle handle = handles.back();
        handles.pop_back();
        return handle;
      }
    }
    Handle handle = nullptr;
    backend().library.check(backend().create(&handle), call.step);
    return handle;
  }

  std::mutex mutex;
  std::map<std::vector<int64_t>, std::shared_ptr<Plan>> plans;
  std::map<int, std::vector<Handle>> idle;
};

Plans &plans() {
  static auto &all = *new Plans; // never destroyed, as the driver goes first
  return all;
}

} // namespace

bool cuDnnGraphAvailable() { return backend().library.available(); }

void prepareCuDnnFusedConvolution(const RoutineCall &call) {
  FusedConvolution shape(call);
  if (!shape.isEmpty())
    plans().find(call, shape);
}

void cuDnnFusedConvolution(const RoutineCall &call) {
  const Step &step = call.step;
  FusedConvolution shape(call);
  if (shape.isEmpty())
    return;
  std::shared_ptr<Plan> plan = plans().find(call, shape);
  std::vector<int64_t> ids;
  std::vector<void *> pointers;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    ids.push_back(static_cast<int64_t>(i) + 1);
    pointers.push_back(reinterpret_cast<void *>(call.operands[i]));
  }
  Descriptor pack(VariantPack, step);
  pack.set(PackIds, OfInteger, std::span<const int64_t>(ids));
  pack.set(PackPointers, OfPointer, std::span<void *const>(pointers));
  pack.set<void *>(PackWorkspace, OfPointer, {reinterpret_cast<void *>(call.workspace)});
  pack.finish();
  static auto &handles = *new DeviceHandles;
  const CuDnnBackend &dnn = backend();
  auto check = [&](int status) { dnn.library.check(status, step); };
  handles.with(
      call.device, [&](Handle *handle) { check(dnn.create(handle)); },
      [&](Handle handle) {
        check(dnn.setStream(handle, call.stream));
        check(dnn.execute(handle, plan->plan.raw(), pack.raw()));
      });
}

} // namespace headrace::cuda
