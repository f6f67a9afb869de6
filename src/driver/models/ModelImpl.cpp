// What every kind of model does unless it has a way of its own.
#include "driver/models/ModelImpl.h"

#include "driver/models/SingleModel.h"
#include "runtime/system/ThreadPool.h"

namespace headrace {

Sizes Model::Impl::checked(const Sizes &sizes) const {
  if (sizes.size() > symbols.size())
    throw Error(ErrorKind::InvalidArgument,
                name + ": the program has " + std::to_string(symbols.size()) +
                    " dynamic dimensions, " + std::to_string(sizes.size()) + " values were given");
  Sizes full = sizes;
  full.resize(symbols.size());
  return full;
}

static std::vector<ValueSpec> valueSpecs(std::span<const TensorSpec> specs,
                                         std::span<const std::string> symbols) {
  std::vector<ValueSpec> result;
  for (const TensorSpec &spec : specs) {
    ValueSpec &value =
        result.emplace_back(ValueSpec{spec.name, std::string(nameOf(spec.dtype)), {}});
    value.shape.emplace();
    for (const DimExpr &dim : spec.dims) {
      if (auto size = dim.asConstant())
        value.shape->emplace_back(*size);
      else
        value.shape->emplace_back(dim.str(symbols));
    }
  }
  return result;
}

std::vector<ValueSpec> Model::Impl::inputValues() const {
  return valueSpecs(interface.inputs, symbols);
}

std::vector<ValueSpec> Model::Impl::outputValues() const {
  return valueSpecs(interface.outputs, symbols);
}

std::vector<RuntimeValue> asValues(std::span<const Tensor> tensors) {
  std::vector<RuntimeValue> values;
  for (const Tensor &tensor : tensors)
    values.push_back(tensor ? RuntimeValue(tensor) : RuntimeValue());
  return values;
}

std::vector<Tensor> asTensors(std::span<const RuntimeValue> values,
                              std::span<const TensorSpec> specs, const char *role) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].tensor())
      throw Error(ErrorKind::TypeMismatch,
                  std::string(role) + " '" + (i < specs.size() ? specs[i].name : "") +
                      "': expected a numeric tensor, got " + describe(values[i]));
    tensors.push_back(*values[i].tensor());
  }
  return tensors;
}

std::vector<Tensor> Model::Impl::run(std::span<const Tensor> inputs) {
  std::vector<Tensor> results(interface.outputs.size());
  runInto(inputs, results);
  return results;
}

std::vector<RuntimeValue> Model::Impl::runValues(std::span<const RuntimeValue> inputs,
                                                 const std::vector<bool> &) {
  return asValues(run(asTensors(inputs, interface.inputs, "input")));
}

static ProfiledStep describedStep(const Step &step, std::span<const int64_t> sizes) {
  ProfiledStep result;
  result.name = step.name;
  result.operators = step.operators;
  result.routine = step.kind == Step::Kind::Library ? step.symbol : "";
  result.engine = step.engine;
  result.runs = 1;
  result.bytes = step.cost.bytesRead.evaluate(sizes) + step.cost.bytesWritten.evaluate(sizes);
  result.operations = step.cost.operations.evaluate(sizes);
  return result;
}

std::vector<RuntimeValue> Model::Impl::runProfiled(std::span<const RuntimeValue> inputs,
                                                   std::vector<ProfiledStep> &steps) {
  std::vector<Tensor> tensors = asTensors(inputs, interface.inputs, "input");
  std::shared_ptr<const Executable> executable = compile(tensors);
  std::vector<double> times;
  std::vector<Tensor> results = executable->run(tensors, ThreadPool::global(), &times);
  std::vector<int64_t> sizes = executable->bind(tensors).value_or(std::vector<int64_t>());
  steps.clear();
  for (size_t i = 0; i < times.size(); ++i) {
    steps.push_back(describedStep(executable->program().steps[i], sizes));
    steps.back().microseconds = times[i];
  }
  return asValues(results);
}

std::vector<ProfiledStep> Model::Impl::profileSteps(std::span<const RuntimeValue>, int) {
  throw Error(ErrorKind::Unsupported,
              name + ": expected a model that is split into several programs");
}

std::unique_ptr<Model::Impl> Model::Impl::withGradient(const GradientOptions &options) {
  return single("its gradient").withGradient(options);
}

ForwardBackward Model::Impl::forwardAndBackward(const GradientOptions &options) {
  return single("its gradient as two programs").forwardAndBackward(options);
}

std::vector<TensorSpec> Model::Impl::weights() { return single("its weights").weights(); }

std::vector<RuntimeValue> Model::Impl::referenceValues(std::span<const RuntimeValue> inputs,
                                                       bool keepDouble) {
  return asValues(reference(asTensors(inputs, interface.inputs, "input"), keepDouble));
}

std::vector<RuntimeValue> Model::Impl::roundedReferenceValues(Model &model,
                                                              std::span<const RuntimeValue> inputs,
                                                              uint64_t seed, double scale) {
  std::vector<Tensor> tensors = asTensors(inputs, interface.inputs, "input");
  return asValues(model.roundedReference(tensors, seed, scale));
}

} // namespace headrace
