// The functions as kernels have them.
#include "driver/programs/GraphModel.h"

#include "Measure.h"
#include <map>

#define HEADRACE_DEVICE_FUNCTIONS(X)                                                               \
  X(exp)                                                                                           \
  X(exp2)                                                                                          \
  X(expm1)                                                                                         \
  X(log)                                                                                           \
  X(log1p)                                                                                         \
  X(log2) X(log10) X(sqrt) X(rsqrt) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh)   \
      X(tanh) X(asinh) X(acosh) X(atanh) X(cbrt) X(erf) X(floor) X(ceil)

extern "C" {
#define HEADRACE_DECLARE(name)                                                                     \
  float hr_##name##_f32(float);                                                                    \
  double hr_##name##_f64(double);
HEADRACE_DEVICE_FUNCTIONS(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE
float hr_powf_f32(float, float);
double hr_powf_f64(double, double);
float hr_atan2_f32(float, float);
double hr_atan2_f64(double, double);
float hr_remf_f32(float, float);
double hr_remf_f64(double, double);
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
#define HEADRACE_ENTRY(name) {#name, {hr_##name##_f32, hr_##name##_f64}},
    HEADRACE_DEVICE_FUNCTIONS(HEADRACE_ENTRY)
#undef HEADRACE_ENTRY
};
const std::map<std::string_view, DeviceFunction2> kBinary = {
    {"power", {hr_powf_f32, hr_powf_f64}},
    {"atan2", {hr_atan2_f32, hr_atan2_f64}},
    {"remainder", {hr_remf_f32, hr_remf_f64}},
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

/// Half precision is computed in single, as kernels do.
template <class Functions> Evaluate evaluateBy(const Functions &functions, DType type) {
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
