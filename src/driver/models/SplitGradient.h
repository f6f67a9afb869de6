// A model that is split into several programs, with the gradients of its results.
#pragma once

#include "driver/models/ModelImpl.h"
#include "driver/staged/GradientExecutor.h"
#include "driver/staged/StagedProgram.h"

namespace headrace {

class SplitGradient : public Model::Impl {
public:
  SplitGradient(std::shared_ptr<staged::StagedProgram> program, const GradientOptions &options);

  std::vector<ValueSpec> inputValues() const override { return inputs; }
  std::vector<ValueSpec> outputValues() const override { return outputs; }
  std::string engine() const override;
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override;
  std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs) override;
  std::vector<Tensor> run(std::span<const Tensor> inputs) override;
  std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                      const std::vector<bool> &wanted) override;
  std::vector<Tensor> reference(std::span<const Tensor> inputs, bool keepDouble) override;
  std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs,
                                            bool keepDouble) override;
  Explanation explain(const Sizes &sizes) override;
  bool isSplit() const override { return true; }
  std::string stagesText() const override { return program->text(); }
  size_t compiledVersions() const override { return program->compiledVersions(); }
  void finishCompiling() const override { program->finishCompiling(); }
  SingleModel &single(const char *what) override;

private:
  std::vector<RuntimeValue> evaluate(std::span<const RuntimeValue> inputs, bool isReference);
  Tensor seedOf(size_t output, const Tensor &value, std::span<const RuntimeValue> inputs) const;

  std::shared_ptr<staged::StagedProgram> program;
  bool hasValues;
  std::vector<size_t> wrt; // inputs
  /// For each output of the program the input that is its gradient; nothing if it has the gradient
  /// 1, or none.
  std::vector<std::optional<size_t>> seeds;
  std::vector<ValueSpec> inputs, outputs;
  staged::RegionGradients gradients;
};

} // namespace headrace
