// Reports on models that run in stages.
#include "driver/programs/CompiledRegion.h"
#include "driver/staged/StagedProgram.h"
#include "runtime/system/Text.h"

#include <set>

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
  std::set<std::string> explained;
  for (const std::shared_ptr<const adaptive::Region> &region : regions()) {
    Model &part = modelOf(*region);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < region->inputs.size(); ++i)
      inputs.push_back(Tensor::allocate(part.inputs()[i].dtype, region->sizes[i]));
    std::vector<int64_t> symbols = part.bind(inputs);
    Explanation report = part.explain({symbols.begin(), symbols.end()});
    // Of several versions of a region, the recipe of the one that was used last.
    if (explained.insert(onnxGraph->graph.describe(*region)).second)
      result.recipe += report.recipe;
    std::string prefix = "stage " + std::to_string(++number) + ": ";
    for (KernelReport &kernel : report.kernels) {
      kernel.name = prefix + kernel.name;
      result.kernels.push_back(std::move(kernel));
    }
    add(result.before, report.before);
    add(result.after, report.after);
    result.constantBytes += report.constantBytes;
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
  auto [compiled, host] = onnxGraph->nodesByPlace();
  text += "  compiled: " + std::to_string(compiled.size()) +
          " nodes, in programs that are made as it runs\n";
  text += "  on the host between them: " + std::to_string(host.size()) + " nodes\n";
  for (const onnx::Node *node : host)
    text += "    " + node->describe() + "\n";
  return text;
}

} // namespace headrace::staged
