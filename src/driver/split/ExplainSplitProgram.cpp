// Reports on models that are split into several programs.
#include "analysis/cost/SizeHints.h"
#include "driver/CompiledRegion.h"
#include "driver/split/Executors.h"
#include "driver/split/SplitProgram.h"
#include "runtime/system/Text.h"

#include "adaptive/Iterations.h"
#include <algorithm>
#include <set>

namespace headrace::split {

static void add(MovementReport &sum, const MovementReport &part) {
  sum.kernels += part.kernels;
  sum.bytesMoved = sum.bytesMoved + part.bytesMoved;
  sum.operations = sum.operations + part.operations;
  sum.intermediateBytes = sum.intermediateBytes + part.intermediateBytes;
}

/// Values of the declared inputs in which only types and sizes count; nothing for an input that the
/// model does not declare as a numeric tensor of some rank.
static std::vector<RuntimeValue> valuesOfSizes(const std::vector<ValueSpec> &inputs,
                                               const std::vector<Symbol> &symbols,
                                               const Sizes &sizes) {
  constexpr int64_t unknownSize = 32; // images are scaled down by powers of two
  auto sizeOf = [&](const std::string &name) {
    auto found = std::ranges::find(symbols, name, &Symbol::name);
    auto index = static_cast<size_t>(found - symbols.begin());
    int64_t hint = SizeHints::fromName(name);
    return (index < sizes.size() ? sizes[index] : std::nullopt)
        .value_or(hint > 0 ? hint : unknownSize);
  };
  std::vector<RuntimeValue> values;
  for (const ValueSpec &input : inputs) {
    std::optional<DType> type = parseDType(input.type);
    RuntimeValue &value = values.emplace_back();
    if (!type || !input.shape)
      continue;
    Shape shape;
    for (const auto &dim : *input.shape) {
      const int64_t *size = std::get_if<int64_t>(&dim);
      shape.push_back(size ? *size : sizeOf(std::get<std::string>(dim)));
    }
    value = Tensor::allocate(*type, std::move(shape));
  }
  return values;
}

/// What a call with these sizes reaches whatever the data are; the rest is in the report.
adaptive::Preview SplitProgram::preview(const Sizes &sizes, Explanation &report) const {
  adaptive::Preview preview;
  SizeExecutor executor;
  adaptive::GraphCall call{executor, adaptive::maxIterations(model.settings.maxIterations)};
  try {
    onnxGraph->graph.addPreview(valuesOfSizes(inputSpecs(), interface().symbols, sizes), nullptr,
                                call, preview);
  } catch (const Error &error) {
    bool isGiven = std::ranges::any_of(sizes, [](const auto &size) { return size.has_value(); });
    if (isGiven)
      throw; // else the size hints may be to blame
    report.knownAfterRun.push_back({model.name, error.what()});
  }
  for (const adaptive::Preview::Waiting &node : preview.waiting)
    report.knownAfterRun.push_back({node.node, node.reason});
  report.followers = preview.followers;
  return preview;
}

Explanation SplitProgram::explain(const Sizes &sizes) const {
  Explanation result;
  result.name = model.name;
  size_t number = 0;
  std::set<std::string> explained;
  std::vector<std::shared_ptr<const adaptive::Region>> shown = regions();
  if (shown.empty() ||
      std::ranges::any_of(sizes, [](const auto &size) { return size.has_value(); }))
    shown = preview(sizes, result).regions;
  for (const std::shared_ptr<const adaptive::Region> &region : shown) {
    Model &part = modelOf(*region);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < region->inputs.size(); ++i)
      inputs.push_back(Tensor::allocate(part.inputs()[i].dtype, region->sizes[i]));
    std::vector<int64_t> symbols = part.bind(inputs);
    Explanation report = part.explain({symbols.begin(), symbols.end()});
    // Of several versions of a region, the recipe of the one that was used last.
    if (explained.insert(codeOf(*region).part).second)
      result.recipe += report.recipe;
    std::string prefix = "region " + std::to_string(++number) + ": ";
    for (KernelReport &kernel : report.kernels) {
      kernel.name = prefix + kernel.name;
      result.kernels.push_back(std::move(kernel));
    }
    add(result.before, report.before);
    add(result.after, report.after);
    result.constantBytes += report.constantBytes;
  }
  return result;
}

std::string SplitProgram::text() const {
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

} // namespace headrace::split
