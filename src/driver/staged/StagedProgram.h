// A model that needs several programs, because shapes, control flow or constants depend on data: it
// runs in stages, each a program that is compiled when a call reaches it, and cached (GraphPlan.h).
#pragma once

#include "driver/staged/GraphPlan.h"

namespace headrace::staged {

class StagedProgram {
public:
  /// Whether the operators and types of a model show that one program cannot express it.
  static bool isNeededFor(const onnx::Model &file);
  /// Whether nodes are much cheaper on the host than in a program for that target.
  static bool isCheaperFor(const onnx::Model &file, const std::string &target);

  /// `reason` is what kept it from being one program, if it was tried. Throws Error if an
  /// operator is not supported.
  StagedProgram(std::string name, onnx::Model file, const Settings &settings,
                std::string reason = "");

  const std::string &name() const { return model.name; }
  const Settings &settings() const { return model.settings; }
  /// Inputs and outputs as the model declares them; inputs that it gives values of its own are left
  /// out.
  std::vector<ValueSpec> inputSpecs() const;
  std::vector<ValueSpec> outputSpecs() const;
  /// The inputs and outputs that are tensors; named dimensions of inputs are its symbols.
  Program interface() const;

  /// Throws Error if inputs differ from their declarations. `wanted` is as in Model::runValues.
  std::vector<RuntimeValue> run(std::span<const RuntimeValue> inputs, Evaluation how,
                                const std::vector<bool> &wanted = {}, Rounding rounding = {});
  /// Results and steps of one run, without predictions.
  std::vector<RuntimeValue> runProfiled(std::span<const RuntimeValue> inputs,
                                        std::vector<StageStep> &steps);
  /// The steps of such a run, each with its median over this many.
  std::vector<StageStep> profile(std::span<const RuntimeValue> inputs, int calls);
  /// The values of the symbols. Throws Error as run does.
  std::vector<int64_t> bind(std::span<const RuntimeValue> inputs) const;

  /// The programs compiled so far, and how many versions of them.
  std::vector<std::shared_ptr<const Stage>> stages() const { return plan->stages(); }
  size_t compiledVersions() const;
  /// A report on them, at the sizes that they were made for. Throws Error before the first run.
  Explanation explain() const;
  /// The nodes of the host by name, and how many others there are.
  std::string text() const;

private:
  std::vector<RuntimeValue> run(std::span<const RuntimeValue> inputs, Call call,
                                const std::vector<bool> &wanted);
  const std::vector<onnx::ValueInfo> &outputs() const { return model.file.graph.outputs; }

  StagedModel model;
  std::string reason;
  std::vector<onnx::ValueInfo> declaredInputs;
  std::unique_ptr<GraphPlan> plan;
};

} // namespace headrace::staged
