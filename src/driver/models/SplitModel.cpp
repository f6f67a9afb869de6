#include "driver/models/SplitModel.h"

#include "driver/models/SplitGradient.h"
#include "target/Target.h"

namespace headrace {

SplitKind::SplitKind(std::shared_ptr<split::SplitProgram> given, std::string what)
    : Impl(given->name(), given->settings()), program(std::move(given)), what(std::move(what)) {}

std::string SplitKind::engine() const { return findTarget(settings.target).engine(); }

std::shared_ptr<const Executable> SplitKind::compile(std::span<const Tensor>) {
  (void)single("its executable");
  return nullptr;
}

std::vector<Tensor> SplitKind::run(std::span<const Tensor> inputs) {
  return asTensors(runValues(asValues(inputs), {}), interface.outputs, "output");
}

std::vector<Tensor> SplitKind::reference(std::span<const Tensor> inputs, bool keepDouble) {
  return asTensors(referenceValues(asValues(inputs), keepDouble), interface.outputs, "output");
}

Explanation SplitKind::explain(const Sizes &) {
  (void)single("its kernels");
  return {};
}

SingleModel &SplitKind::single(const char *shown) {
  throw Error(ErrorKind::Unsupported,
              name + ": expected a model that is one program to show " + shown + ", got " + what);
}

SplitModel::SplitModel(std::shared_ptr<split::SplitProgram> given)
    : SplitKind(std::move(given), "one split into several programs, because its shapes, control "
                                  "flow or values depend on data") {
  setInterface(program->interface());
}

std::vector<RuntimeValue> SplitModel::referenceValues(std::span<const RuntimeValue> inputs,
                                                      bool keepDouble) {
  std::vector<RuntimeValue> results = program->reference(inputs);
  for (RuntimeValue &result : results)
    if (const Tensor *tensor = result.tensor(); tensor && keepDouble)
      if (tensor->dtype() >= DType::F16 && tensor->dtype() <= DType::F32)
        result = tensor->converted(DType::F64);
  return results;
}

std::unique_ptr<Model::Impl> SplitModel::withGradient(const GradientOptions &options) {
  return std::make_unique<SplitGradient>(
      std::make_shared<split::SplitDerivative>(program, options.wrt), options.values,
      /*seedsScalars=*/true);
}

/// With a bound on what is saved, nothing is: the backward program runs the forward one again.
ForwardBackward SplitModel::forwardAndBackward(const GradientOptions &options) {
  auto derivative = std::make_shared<split::SplitDerivative>(program, options.wrt);
  ForwardBackward result;
  if (options.memoryBudget) {
    result.forward = asModel(std::make_unique<SplitModel>(program));
    result.backward = asModel(std::make_unique<SplitGradient>(derivative, /*hasValues=*/false,
                                                              /*seedsScalars=*/false));
    for (size_t i = 0; i < interface.inputs.size(); ++i)
      result.kept.push_back({SavedTensor::Place::Input, i, interface.inputs[i]});
    result.computedAgain = program->compiledNodes();
  } else {
    result.forward = asModel(std::make_unique<SplitForward>(derivative));
    result.backward = asModel(std::make_unique<SplitBackward>(derivative));
    result.kept = {{SavedTensor::Place::Output, interface.outputs.size(), tapeSpec()}};
  }
  return result;
}

} // namespace headrace
