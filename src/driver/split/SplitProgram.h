// A model that needs several programs, because shapes, control flow or constants depend on data:
// each is compiled when a call reaches it, and kept (adaptive/Graph.h).
#pragma once

#include "driver/Model.h"
#include "driver/split/OnnxGraph.h"
#include "package/Contents.h"

namespace headrace::split {

class SplitProgram {
public:
  /// Whether the operators and types of a model show that one program cannot express it.
  static bool isNeededFor(const onnx::Model &file);
  /// Whether nodes are much cheaper on the host than in a program for that target.
  static bool isCheaperFor(const onnx::Model &file, const std::string &target);

  /// `reason` is what kept it from being one program, if it was tried. Throws Error if an
  /// operator is not supported.
  SplitProgram(std::string name, onnx::Model file, const Settings &settings,
               std::string reason = "");

  const std::string &name() const { return model.name; }
  const Settings &settings() const { return model.settings; }
  /// Inputs and outputs as the model declares them; inputs that it gives values of its own are left
  /// out.
  std::vector<ValueSpec> inputSpecs() const;
  std::vector<ValueSpec> outputSpecs() const;
  /// The inputs and outputs that are tensors; dynamic dimensions of inputs are its symbols.
  Program interface() const;

  /// The constants of floating-point type of the model's own graph, by name.
  std::vector<TensorSpec> weights() const;
  /// The model with such constants as further inputs, in this order, and their values.
  std::shared_ptr<SplitProgram> withWeightsAsInputs(const std::vector<std::string> &names,
                                                    std::vector<Tensor> &values) const;
  /// The nodes that are compiled, by name.
  std::vector<std::string> compiledNodes() const;

  /// Throws Error if inputs differ from their declarations. `wanted` is as in Model::runValues.
  std::vector<RuntimeValue> run(std::span<const RuntimeValue> inputs,
                                const std::vector<bool> &wanted = {});
  /// The programs operator by operator in double precision.
  std::vector<RuntimeValue> reference(std::span<const RuntimeValue> inputs);
  /// The programs as Model::roundedReference evaluates them.
  std::vector<RuntimeValue> roundedReference(std::span<const RuntimeValue> inputs, uint64_t seed,
                                             double scale);
  /// Its parts are run by this executor.
  std::vector<RuntimeValue> run(std::span<const RuntimeValue> inputs, adaptive::Executor &executor,
                                const std::vector<bool> &wanted = {});
  /// Results and steps of one run, without predictions.
  std::vector<RuntimeValue> runProfiled(std::span<const RuntimeValue> inputs,
                                        std::vector<ProfiledStep> &steps);
  /// The steps of such a run, each with its median over `calls` runs.
  std::vector<ProfiledStep> profile(std::span<const RuntimeValue> inputs, int calls);
  /// The values of the symbols. Throws Error as run does.
  std::vector<int64_t> bind(std::span<const RuntimeValue> inputs) const;

  /// The programs made so far, and how many versions of them.
  std::vector<std::shared_ptr<const adaptive::Region>> regions() const {
    return onnxGraph->graph.regions();
  }
  size_t compiledVersions() const;
  /// Waits until no version is being compiled in the background.
  void finishCompiling() const;
  /// The graph that runs, shared with whoever packs it.
  std::shared_ptr<adaptive::Graph> graph() const { return {onnxGraph, &onnxGraph->graph}; }
  /// A report on them, at the sizes that they were made for. Before the first run, or if sizes are
  /// given: on those that a call with these sizes (or size hints) reaches whatever the data are.
  Explanation explain(const Sizes &sizes) const;
  /// The nodes of the host by name, and how many others there are.
  std::string text() const;

private:
  void nameDimensions();
  adaptive::Preview preview(const Sizes &sizes, Explanation &report) const;
  const std::vector<onnx::ValueInfo> &outputs() const { return model.file.graph.outputs; }

  SplitModelFile model;
  std::string reason;
  std::vector<onnx::ValueInfo> declaredInputs;
  std::shared_ptr<OnnxGraph> onnxGraph;
};

} // namespace headrace::split
