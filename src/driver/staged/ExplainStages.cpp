// Reports on models that run in stages.
#include "driver/staged/StagedProgram.h"
#include "runtime/system/Text.h"

namespace headrace::staged {

static void add(MovementReport &sum, const MovementReport &part) {
  sum.kernels += part.kernels;
  sum.bytesMoved = sum.bytesMoved + part.bytesMoved;
  sum.operations = sum.operations + part.operations;
  sum.intermediateBytes = sum.intermediateBytes + part.intermediateBytes;
}

Explanation StagedProgram::explain() const {
  Explanation result;
  result.name = model.name;
  size_t number = 0;
  for (const std::shared_ptr<const Stage> &stage : stages()) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < stage->inputs.size(); ++i)
      inputs.push_back(Tensor::allocate(stage->model->inputs()[i].dtype, stage->sizes[i]));
    std::vector<int64_t> symbols = stage->model->bind(inputs);
    Explanation part = stage->model->explain({symbols.begin(), symbols.end()});
    std::string prefix = "stage " + std::to_string(++number) + ": ";
    for (KernelReport &kernel : part.kernels) {
      kernel.name = prefix + kernel.name;
      result.kernels.push_back(std::move(kernel));
    }
    add(result.before, part.before);
    add(result.after, part.after);
    result.constantBytes += part.constantBytes;
  }
  if (number == 0)
    throw Error(ErrorKind::InvalidArgument,
                model.name +
                    ": expected a run before its kernels are shown: it is split into programs "
                    "that depend on data");
  return result;
}

std::string StagedProgram::text() const {
  std::string text = escaped(model.name) + " is split into several programs, because its shapes, "
                                           "control flow or values depend on data\n";
  if (!reason.empty())
    text += "  no single program: " + escaped(reason) + "\n";
  auto [compiled, host] = plan->nodesByPlace();
  text += "  compiled: " + std::to_string(compiled.size()) +
          " nodes, in programs that are made as it runs\n";
  text += "  on the host between them: " + std::to_string(host.size()) + " nodes\n";
  for (const onnx::Node *node : host)
    text += "    " + node->describe() + "\n";
  return text;
}

} // namespace headrace::staged
