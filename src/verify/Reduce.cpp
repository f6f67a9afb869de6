#include "verify/Reduce.h"

#include "driver/programs/OnnxModel.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <optional>
#include <set>

namespace headrace::verify {

namespace {

using Names = std::set<std::string>;

std::string nameOf(const onnx::Node &node) {
  if (!node.name.empty())
    return node.name;
  return node.opType + "_" + (node.outputs.empty() ? "" : node.outputs.front());
}

// The values that a node reads, and the graphs inside of it.
void addReads(const onnx::Node &node, Names &values) {
  values.insert(node.inputs.begin(), node.inputs.end());
  for (const onnx::Attribute &attribute : node.attributes)
    if (attribute.graph) {
      for (const onnx::Node &inner : attribute.graph->nodes)
        addReads(inner, values);
      for (const onnx::ValueInfo &output : attribute.graph->outputs)
        values.insert(output.name);
    }
}

template <class Entries> void keepNamed(Entries &entries, const Names &wanted) {
  std::erase_if(entries, [&](const auto &entry) { return !wanted.contains(entry.name); });
}

// Without nodes, inputs and initializers that no output depends on.
void dropUnneeded(ReducedModel &part) {
  onnx::Graph &graph = part.model.graph;
  Names wanted;
  for (const onnx::ValueInfo &output : graph.outputs)
    wanted.insert(output.name);
  std::vector<onnx::Node> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const onnx::Node &node = graph.nodes[i];
    if (std::ranges::none_of(node.outputs,
                             [&](const std::string &name) { return wanted.contains(name); }))
      continue;
    addReads(node, wanted);
    kept.push_back(node);
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  keepNamed(graph.inputs, wanted);
  keepNamed(graph.initializers, wanted);
  std::erase_if(part.inputs, [&](const auto &input) { return !wanted.contains(input.first); });
  graph.valueInfo.clear();
}

class Reduction {
public:
  Reduction(ReducedModel whole, const std::function<bool(const ReducedModel &)> &differs)
      : part(std::move(whole)), differs(differs) {
    sortNodes();
  }

  ReducedModel run(const std::vector<std::string> &suspects) {
    if (!tryNodes(suspects)) {
      ReducedModel needed = part;
      dropUnneeded(needed);
      if (!take(needed) && !differs(part))
        throw Error(ErrorKind::InvalidArgument,
                    part.model.graph.name + ": expected a model that differs from the reference");
    }
    while (tries < maxTries && (keepOneOutput() || endEarlier() || cutOneValue())) {
    }
    declareOutputs();
    return std::move(part);
  }

private:
  static constexpr int maxTries = 300;

  bool take(const ReducedModel &candidate) {
    ++tries;
    bool isSmaller = candidate.model.graph.nodes.size() < part.model.graph.nodes.size() ||
                     candidate.model.graph.outputs.size() < part.model.graph.outputs.size();
    if (candidate.model.graph.nodes.empty() || !isSmaller || !differsSafely(candidate))
      return false;
    part = candidate;
    return true;
  }

  // A part may not be a valid model, for example if a size is not known.
  bool differsSafely(const ReducedModel &candidate) const {
    try {
      return differs(candidate);
    } catch (const Error &) {
      return false;
    }
  }

  // Files may list nodes in any order.
  void sortNodes() {
    onnx::Graph &graph = part.model.graph;
    Names computed;
    for (const onnx::Node &node : graph.nodes)
      computed.insert(node.outputs.begin(), node.outputs.end());
    computed.erase("");
    std::vector<onnx::Node> sorted, waiting = std::move(graph.nodes);
    while (!waiting.empty()) {
      std::vector<onnx::Node> later;
      for (onnx::Node &node : waiting) {
        Names reads;
        addReads(node, reads);
        bool isReady = std::ranges::none_of(
            reads, [&](const std::string &name) { return computed.contains(name); });
        if (!isReady) {
          later.push_back(std::move(node));
          continue;
        }
        for (const std::string &name : node.outputs)
          computed.erase(name);
        sorted.push_back(std::move(node));
      }
      if (later.size() == waiting.size())
        throw Error(ErrorKind::InvalidModel, graph.name + ": the nodes depend on each other");
      waiting = std::move(later);
    }
    graph.nodes = std::move(sorted);
  }

  // Files declare the types of outputs; those of values inside of the model were not needed.
  void declareOutputs() {
    std::shared_ptr<Model> model = modelOf(part.model, part.model.graph.name);
    for (size_t i = 0; i < part.model.graph.outputs.size(); ++i) {
      onnx::ValueInfo &output = part.model.graph.outputs[i];
      const TensorSpec &spec = model->outputs()[i];
      if (output.dtype || model->isSplit())
        continue;
      output.kind = onnx::ValueInfo::Tensor;
      output.dtype = spec.dtype;
      output.shape.emplace();
      for (const DimExpr &dim : spec.dims)
        output.shape->push_back({dim.asConstant(), ""});
    }
  }

  Names computedValues() const {
    Names values;
    for (const onnx::Node &node : part.model.graph.nodes)
      values.insert(node.outputs.begin(), node.outputs.end());
    values.erase("");
    return values;
  }

  // What the reference computes for values of the graph.
  std::optional<std::map<std::string, Tensor>> evaluated(const Names &names) const {
    ReducedModel probe = part;
    probe.model.graph.outputs.clear();
    for (const std::string &name : names)
      probe.model.graph.outputs.push_back({name, {}, {}});
    dropUnneeded(probe);
    std::map<std::string, Tensor> values;
    try {
      std::shared_ptr<Model> model = modelOf(probe.model, part.model.graph.name);
      std::vector<RuntimeValue> inputs;
      for (const TensorSpec &spec : model->inputs())
        inputs.emplace_back(probe.inputs.at(spec.name));
      std::vector<RuntimeValue> found = model->referenceValues(inputs);
      for (size_t i = 0; i < found.size(); ++i) {
        if (!found[i].tensor())
          return std::nullopt;
        values[model->outputs()[i].name] = *found[i].tensor();
      }
    } catch (const Error &) {
      return std::nullopt;
    }
    return values;
  }

  static void addInput(ReducedModel &candidate, const std::string &name, const Tensor &value) {
    std::vector<onnx::Dim> shape;
    for (int64_t size : value.shape())
      shape.push_back({size, ""});
    candidate.model.graph.inputs.push_back({name, value.dtype(), shape, onnx::ValueInfo::Tensor});
    candidate.inputs[name] = value;
  }

  // The nodes of these names alone.
  bool tryNodes(const std::vector<std::string> &suspects) {
    ReducedModel candidate = part;
    onnx::Graph &graph = candidate.model.graph;
    std::erase_if(graph.nodes, [&](const onnx::Node &node) {
      return std::ranges::find(suspects, nameOf(node)) == suspects.end();
    });
    if (graph.nodes.empty())
      return false;
    Names inside, read, readOutside;
    for (const onnx::Node &node : graph.nodes) {
      inside.insert(node.outputs.begin(), node.outputs.end());
      addReads(node, read);
    }
    inside.erase("");
    for (const onnx::Node &node : part.model.graph.nodes)
      if (std::ranges::find(suspects, nameOf(node)) == suspects.end())
        addReads(node, readOutside);
    for (const onnx::ValueInfo &output : part.model.graph.outputs)
      readOutside.insert(output.name);
    graph.outputs.clear();
    for (const std::string &name : inside)
      if (readOutside.contains(name))
        graph.outputs.push_back({name, {}, {}});
    Names captured;
    for (const std::string &name : computedValues())
      if (read.contains(name) && !inside.contains(name))
        captured.insert(name);
    if (!captured.empty()) {
      auto values = evaluated(captured);
      if (!values)
        return false;
      for (const auto &[name, value] : *values)
        addInput(candidate, name, value);
    }
    dropUnneeded(candidate);
    return take(candidate);
  }

  bool keepOneOutput() {
    if (part.model.graph.outputs.size() == 1)
      return false;
    for (const onnx::ValueInfo &output : std::vector(part.model.graph.outputs)) {
      ReducedModel candidate = part;
      candidate.model.graph.outputs = {output};
      dropUnneeded(candidate);
      if (take(candidate))
        return true;
    }
    return false;
  }

  // The values that the last node reads are outputs in its place.
  bool endEarlier() {
    Names read;
    for (const onnx::Node &node : part.model.graph.nodes)
      addReads(node, read);
    for (size_t i = part.model.graph.nodes.size(); i-- > 0 && tries < maxTries;) {
      const onnx::Node &node = part.model.graph.nodes[i];
      if (std::ranges::any_of(node.outputs,
                              [&](const std::string &name) { return read.contains(name); }))
        continue;
      Names needed;
      addReads(node, needed);
      ReducedModel candidate = part;
      onnx::Graph &graph = candidate.model.graph;
      std::erase_if(graph.outputs, [&](const onnx::ValueInfo &output) {
        return std::ranges::find(node.outputs, output.name) != node.outputs.end();
      });
      for (const std::string &name : computedValues())
        if (needed.contains(name) &&
            std::ranges::find(graph.outputs, name, &onnx::ValueInfo::name) == graph.outputs.end())
          graph.outputs.push_back({name, {}, {}});
      graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(i));
      dropUnneeded(candidate);
      if (!graph.outputs.empty() && take(candidate))
        return true;
    }
    return false;
  }

  // A value becomes an input, and what computed it goes. Late values first: they save most.
  bool cutOneValue() {
    Names outputs;
    for (const onnx::ValueInfo &output : part.model.graph.outputs)
      outputs.insert(output.name);
    for (size_t i = part.model.graph.nodes.size(); i-- > 0 && tries < maxTries;) {
      Names cut;
      for (const std::string &name : part.model.graph.nodes[i].outputs)
        if (!name.empty() && !outputs.contains(name))
          cut.insert(name);
      if (cut.empty())
        continue;
      auto values = evaluated(cut);
      if (!values)
        continue;
      ReducedModel candidate = part;
      candidate.model.graph.nodes.erase(candidate.model.graph.nodes.begin() +
                                        static_cast<std::ptrdiff_t>(i));
      for (const auto &[name, value] : *values)
        addInput(candidate, name, value);
      dropUnneeded(candidate);
      if (take(candidate))
        return true;
    }
    return false;
  }

  ReducedModel part;
  const std::function<bool(const ReducedModel &)> &differs;
  int tries = 0;
};

} // namespace

std::vector<std::string> ReducedModel::nodeNames() const {
  std::vector<std::string> names;
  for (const onnx::Node &node : model.graph.nodes)
    names.push_back(nameOf(node));
  return names;
}

onnx::Model ReducedModel::withValues() const {
  onnx::Model result = model;
  // Initializers that are inputs, too, are defaults since version 4 of the format.
  result.irVersion = std::max<int64_t>(result.irVersion, 4);
  for (const auto &[name, value] : inputs)
    result.graph.initializers.push_back({name, value});
  return result;
}

ReducedModel reduced(const onnx::Model &model, const std::map<std::string, Tensor> &inputs,
                     const std::vector<std::string> &suspects,
                     const std::function<bool(const ReducedModel &)> &differs) {
  ReducedModel whole{model, inputs};
  // Sizes are those of the inputs.
  for (onnx::ValueInfo &input : whole.model.graph.inputs)
    if (auto value = inputs.find(input.name); value != inputs.end()) {
      input.shape.emplace();
      for (int64_t size : value->second.shape())
        input.shape->push_back({size, ""});
    }
  return Reduction(std::move(whole), differs).run(suspects);
}

} // namespace headrace::verify
