// The functions as kernels have them.
#include "driver/programs/GraphModel.h"

#include "Measure.h"
#include <map>

// Those that the device has; the others are null.
extern "C" {
#define HEADRACE_MEASURED(name, formula, smallest)                                                 \
  [[gnu::weak]] float hr_##name##_f32(float);                                                      \
  [[gnu::weak]] double hr_##name##_f64(double);
#define HEADRACE_MEASURED2(name, operation, formula)                                               \
  [[gnu::weak]] float hr_##operation##_f32(float, float);                                          \
  [[gnu::weak]] double hr_##operation##_f64(double, double);
#include "MeasuredFunctions.def"
}

namespace headrace::accuracy {

Evaluate onProcessor(std::string_view function, size_t operands, DType type) {
  Settings settings;
  auto builder = makeGraphBuilder(std::string(function), settings);
  graph::OpenSize size = builder->symbol("n");
  std::vector<graph::Node> inputs;
  for (size_t i = 0; i < operands; ++i)
    inputs.push_back(builder->input("x" + std::to_string(i), type, {size}));
  builder->output("y", builder->elementwise(std::string(function), inputs));
  std::shared_ptr<Model> model = makeModel(*builder, settings);
  return [model](const std::vector<Tensor> &arguments) { return model->run(arguments).front(); };
}

namespace {

struct DeviceFunction {
  float (*f32)(float);
  double (*f64)(double);
};
struct DeviceFunction2 {
  float (*f32)(float, float);
  double (*f64)(double, double);
};

const std::map<std::string_view, DeviceFunction> kUnary = {
#define HEADRACE_MEASURED(name, formula, smallest) {#name, {hr_##name##_f32, hr_##name##_f64}},
#include "MeasuredFunctions.def"
};
const std::map<std::string_view, DeviceFunction2> kBinary = {
#define HEADRACE_MEASURED2(name, operation, formula)                                               \
  {#name, {hr_##operation##_f32, hr_##operation##_f64}},
#include "MeasuredFunctions.def"
};

template <class T, class Function>
Tensor applied(Function function, const std::vector<Tensor> &arguments) {
  Tensor result = Tensor::allocate(arguments[0].dtype(), arguments[0].shape());
  int64_t count = result.elements();
  T *y = result.as<T>();
  const T *x = arguments[0].as<T>();
  if constexpr (std::is_invocable_v<Function, T>) {
    for (int64_t i = 0; i < count; ++i)
      y[i] = function(x[i]);
  } else {
    const T *second = arguments[1].as<T>();
    for (int64_t i = 0; i < count; ++i)
      y[i] = function(x[i], second[i]);
  }
  return result;
}

/// f16 and bf16 are computed in f32, as kernels do.
template <class Functions> Evaluate evaluateBy(const Functions &functions, DType type) {
  if (!functions.f32 || !functions.f64)
    return {};
  return [functions, type](std::vector<Tensor> arguments) {
    if (type == DType::F64)
      return applied<double>(functions.f64, arguments);
    if (type == DType::F32)
      return applied<float>(functions.f32, arguments);
    for (Tensor &argument : arguments)
      argument = argument.converted(DType::F32);
    return applied<float>(functions.f32, arguments).converted(type);
  };
}

} // namespace

Evaluate onDevice(std::string_view function, DType type) {
  if (auto found = kUnary.find(function); found != kUnary.end())
    return evaluateBy(found->second, type);
  if (auto found = kBinary.find(function); found != kBinary.end())
    return evaluateBy(found->second, type);
  return {};
}

} // namespace headrace::accuracy
