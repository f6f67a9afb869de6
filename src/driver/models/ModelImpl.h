// The parts of a model, for the files that implement it: what every kind of model has and can do.
// One program that the compiler makes (SingleModel.h), several of them (SplitModel.h), or those of
// a package (PackagedModel.h).
#pragma once

#include "driver/Model.h"
#include "package/Package.h"
#include "runtime/system/Error.h"

namespace headrace {

class SingleModel;

struct Model::Impl {
  Impl(std::string name, Settings settings)
      : name(std::move(name)), settings(std::move(settings)) {}
  virtual ~Impl() = default;

  std::string name;
  Settings settings;
  /// Interface of the program as loaded, any size allowed; used to check and bind inputs.
  Program interface;
  std::vector<std::string> symbols;
  std::map<std::string, std::string> metadata;
  onnx::FileNotes notes;
  DeclaredValues declared;
  int threads = 0; // of calls; 0: as many as the process has

  void setInterface(const Program &program) {
    interface = program;
    for (const Symbol &symbol : interface.symbols)
      symbols.push_back(symbol.name);
  }
  /// Fills up the sizes to as many as there are symbols. Throws Error if more are given.
  Sizes checked(const Sizes &sizes) const;
  static std::shared_ptr<Model> asModel(std::unique_ptr<Impl> impl) {
    return std::shared_ptr<Model>(new Model(std::move(impl)));
  }

  // As Model documents the functions of these names.
  virtual std::vector<ValueSpec> inputValues() const;
  virtual std::vector<ValueSpec> outputValues() const;
  virtual std::string engine() const = 0;
  virtual std::vector<int64_t> bind(std::span<const Tensor> inputs) const = 0;
  virtual std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs) = 0;
  virtual void runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    compile(inputs)->runInto(inputs, outputs);
  }
  virtual void addCall(std::span<const Tensor>, double) {}
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs);
  virtual std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                              const std::vector<bool> &wanted);
  virtual std::vector<RuntimeValue> runProfiled(std::span<const RuntimeValue> inputs,
                                                std::vector<ProfiledStep> &steps);
  virtual std::vector<ProfiledStep> profileSteps(std::span<const RuntimeValue> inputs, int calls);
  virtual std::vector<Tensor> reference(std::span<const Tensor> inputs, bool keepDouble) = 0;
  virtual std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs,
                                                    bool keepDouble);
  virtual std::vector<RuntimeValue> roundedReferenceValues(Model &model,
                                                           std::span<const RuntimeValue> inputs,
                                                           uint64_t seed, double scale);
  virtual Explanation explain(const Sizes &sizes) = 0;
  virtual bool isSplit() const { return false; }
  virtual std::string splitText() const { return ""; }
  virtual size_t compiledVersions() const = 0;
  virtual void finishCompiling() const {}

  virtual std::vector<TensorSpec> weights();
  virtual std::unique_ptr<Impl> withGradient(const GradientOptions &options);
  virtual ForwardBackward forwardAndBackward(const GradientOptions &options);

  /// The model as one program with its source. Throws Error if it is of another kind, which cannot
  /// show `what`.
  virtual SingleModel &single(const char *what) = 0;
  /// The program of a package; null if the model is not out of a package, or split.
  virtual const PackageProgram *packaged() const { return nullptr; }
};

/// Tensors as values, and values as tensors; `role` is for the message if one is something else.
std::vector<RuntimeValue> asValues(std::span<const Tensor> tensors);
std::vector<Tensor> asTensors(std::span<const RuntimeValue> values,
                              std::span<const TensorSpec> specs, const char *role);

} // namespace headrace
