#include "driver/models/SplitModel.h"

#include "target/Target.h"

namespace headrace {

SplitModel::SplitModel(std::shared_ptr<staged::StagedProgram> given)
    : Impl(given->name(), given->settings()), program(std::move(given)) {
  setInterface(program->interface());
}

std::string SplitModel::engine() const { return findTarget(settings.target).engine(); }

std::shared_ptr<const Executable> SplitModel::compile(std::span<const Tensor>) {
  (void)single("its executable");
  return nullptr;
}

std::vector<Tensor> SplitModel::run(std::span<const Tensor> inputs) {
  return asTensors(program->run(asValues(inputs)), interface.outputs, "output");
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

std::vector<Tensor> SplitModel::reference(std::span<const Tensor> inputs, bool keepDouble) {
  return asTensors(referenceValues(asValues(inputs), keepDouble), interface.outputs, "output");
}

SingleModel &SplitModel::single(const char *what) {
  throw Error(ErrorKind::Unsupported, name + ": expected a model that is one program to show " +
                                          what +
                                          ", got one split into several programs, because its "
                                          "shapes, control flow or values depend on data");
}

} // namespace headrace
