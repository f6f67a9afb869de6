// The steps of a model's calls, timed.
#include "driver/ModelImpl.h"
#include "runtime/system/ThreadChoice.h"
#include "runtime/system/ThreadPool.h"

namespace headrace {

std::vector<StageStep> Model::profileStages(std::span<const RuntimeValue> inputs, int calls) {
  if (!impl->staged)
    throw Error(ErrorKind::Unsupported,
                impl->name + ": expected a model that is split into several programs");
  return impl->staged->profile(inputs, calls);
}

static StageStep describedStep(const Step &step, std::span<const int64_t> sizes) {
  StageStep result;
  result.name = step.name;
  result.operators = step.operators;
  result.routine = step.kind == Step::Kind::Library ? step.symbol : "";
  result.engine = step.engine;
  result.runs = 1;
  result.bytes = step.cost.bytesRead.evaluate(sizes) + step.cost.bytesWritten.evaluate(sizes);
  result.operations = step.cost.operations.evaluate(sizes);
  return result;
}

std::vector<RuntimeValue> Model::runProfiled(std::span<const RuntimeValue> inputs,
                                             std::vector<StageStep> &steps) {
  ThreadChoice threads(impl->threads);
  if (impl->staged)
    return impl->staged->runProfiled(inputs, steps);
  std::vector<Tensor> tensors =
      asTensors(mlir::ArrayRef(inputs.data(), inputs.size()), this->inputs(), "input");
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

} // namespace headrace
