// A model that is split into several programs (split/SplitProgram.h).
#pragma once

#include "driver/models/ModelImpl.h"
#include "driver/split/SplitProgram.h"

namespace headrace {

/// What such a model and its gradients do alike: each is defined by what it computes of values.
class SplitKind : public Model::Impl {
public:
  /// `what` is for messages: "one split into several programs".
  SplitKind(std::shared_ptr<split::SplitProgram> program, std::string what);

  std::string engine() const override;
  std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs) override;
  std::vector<Tensor> run(std::span<const Tensor> inputs) override;
  std::vector<Tensor> reference(std::span<const Tensor> inputs, bool keepDouble) override;
  Explanation explain(const Sizes &sizes) override;
  bool isSplit() const override { return true; }
  std::string splitText() const override { return program->text(); }
  size_t compiledVersions() const override { return program->compiledVersions(); }
  void finishCompiling() const override { program->finishCompiling(); }
  SingleModel &single(const char *what) override;

protected:
  std::shared_ptr<split::SplitProgram> program;

private:
  const std::string what;
};

class SplitModel : public SplitKind {
public:
  explicit SplitModel(std::shared_ptr<split::SplitProgram> program);

  std::vector<ValueSpec> inputValues() const override { return program->inputSpecs(); }
  std::vector<ValueSpec> outputValues() const override { return program->outputSpecs(); }
  std::vector<TensorSpec> weights() override { return program->weights(); }
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override {
    return program->bind(asValues(inputs));
  }
  std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                      const std::vector<bool> &wanted) override {
    return program->run(inputs, wanted);
  }
  std::vector<RuntimeValue> runProfiled(std::span<const RuntimeValue> inputs,
                                        std::vector<ProfiledStep> &steps) override {
    return program->runProfiled(inputs, steps);
  }
  std::vector<ProfiledStep> profileSteps(std::span<const RuntimeValue> inputs, int calls) override {
    return program->profile(inputs, calls);
  }
  std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs,
                                            bool keepDouble) override;
  std::vector<RuntimeValue> roundedReferenceValues(Model &, std::span<const RuntimeValue> inputs,
                                                   uint64_t seed, double scale) override {
    return program->roundedReference(inputs, seed, scale);
  }
  Explanation explain(const Sizes &sizes) override { return program->explain(checked(sizes)); }
  std::unique_ptr<Model::Impl> withGradient(const GradientOptions &options) override;
  ForwardBackward forwardAndBackward(const GradientOptions &options) override;
};

} // namespace headrace
