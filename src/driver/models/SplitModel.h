// A model that is split into several programs (staged/StagedProgram.h).
#pragma once

#include "driver/models/ModelImpl.h"
#include "driver/models/SplitGradient.h"
#include "driver/staged/StagedProgram.h"

namespace headrace {

class SplitModel : public Model::Impl {
public:
  explicit SplitModel(std::shared_ptr<staged::StagedProgram> program);

  std::vector<ValueSpec> inputValues() const override { return program->inputSpecs(); }
  std::vector<ValueSpec> outputValues() const override { return program->outputSpecs(); }
  std::string engine() const override;
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override {
    return program->bind(asValues(inputs));
  }
  std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs) override;
  std::vector<Tensor> run(std::span<const Tensor> inputs) override;
  std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                      const std::vector<bool> &wanted) override {
    return program->run(inputs, wanted);
  }
  std::vector<RuntimeValue> runProfiled(std::span<const RuntimeValue> inputs,
                                        std::vector<StageStep> &steps) override {
    return program->runProfiled(inputs, steps);
  }
  std::vector<StageStep> profileStages(std::span<const RuntimeValue> inputs, int calls) override {
    return program->profile(inputs, calls);
  }
  std::vector<Tensor> reference(std::span<const Tensor> inputs, bool keepDouble) override;
  std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs,
                                            bool keepDouble) override;
  std::vector<RuntimeValue> roundedReferenceValues(Model &, std::span<const RuntimeValue> inputs,
                                                   uint64_t seed, double scale) override {
    return program->roundedReference(inputs, seed, scale);
  }
  Explanation explain(const Sizes &sizes) override { return program->explain(checked(sizes)); }
  std::unique_ptr<Model::Impl> withGradient(const GradientOptions &options) override {
    return std::make_unique<SplitGradient>(program, options);
  }
  bool isSplit() const override { return true; }
  std::string stagesText() const override { return program->text(); }
  size_t compiledVersions() const override { return program->compiledVersions(); }
  void finishCompiling() const override { program->finishCompiling(); }
  SingleModel &single(const char *what) override;

private:
  std::shared_ptr<staged::StagedProgram> program;
};

} // namespace headrace
