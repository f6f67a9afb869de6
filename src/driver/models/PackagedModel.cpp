#include "driver/models/PackagedModel.h"

#include <algorithm>

namespace headrace {
namespace {

/// What both kinds share: there is no source to show anything of.
class PackageKind : public Model::Impl {
public:
  using Impl::Impl;

  std::vector<Tensor> reference(std::span<const Tensor>, bool) override {
    (void)single("reference results");
    return {};
  }
  SingleModel &single(const char *what) override {
    throw Error(ErrorKind::Unsupported, name + ": expected a model to show " + what +
                                            ", got a package, which holds compiled code only");
  }
};

class OneProgram : public PackageKind {
public:
  OneProgram(const std::string &name, const Settings &settings,
             std::shared_ptr<const PackageProgram> given)
      : PackageKind(name, settings), program(std::move(given)) {
    setInterface(program->interface());
  }

  std::string engine() const override { return program->engine(); }
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override {
    return program->bind(inputs);
  }
  std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs) override {
    return program->find(inputs);
  }
  Explanation explain(const Sizes &sizes) override { return program->explain(checked(sizes)); }
  size_t compiledVersions() const override { return program->versionCount(); }
  const PackageProgram *packaged() const override { return program.get(); }

private:
  std::shared_ptr<const PackageProgram> program;
};

/// A dynamic dimension of an input is a symbol; one of an output depends on data.
class SeveralPrograms : public PackageKind {
public:
  SeveralPrograms(const std::string &name, const Settings &settings,
                  std::shared_ptr<const PackageSplitModel> given)
      : PackageKind(name, settings), model(std::move(given)) {
    Program declared;
    declared.name = name;
    for (const PackagedTensor &input : model->inputs())
      for (size_t i = 0; i < input.dims.size(); ++i)
        if (const std::string &dim = input.dimNames[i]; input.dims[i] < 0 && !dim.empty())
          if (std::ranges::find(declared.symbols, dim, &Symbol::name) == declared.symbols.end())
            declared.symbols.push_back({dim, 0, INT64_MAX});
    declared.inputs = specs(model->inputs(), declared.symbols);
    declared.outputs = specs(model->outputs(), declared.symbols);
    setInterface(declared);
  }

  std::vector<ValueSpec> inputValues() const override { return values(model->inputs()); }
  std::vector<ValueSpec> outputValues() const override { return values(model->outputs()); }
  std::string engine() const override { return model->engine(); }
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override {
    model->check(inputs);
    std::vector<int64_t> sizes(symbols.size());
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t d = 0; d < inputs[i].shape().size(); ++d)
        if (std::optional<unsigned> symbol = interface.inputs[i].dims[d].asSymbol())
          sizes[*symbol] = inputs[i].shape()[d];
    return sizes;
  }
  std::shared_ptr<const Executable> compile(std::span<const Tensor>) override {
    throw Error(ErrorKind::Unsupported,
                name + ": expected a model that is one program to show its executable, got one "
                       "split into several programs");
  }
  std::vector<Tensor> run(std::span<const Tensor> inputs) override { return model->run(inputs); }
  /// At the sizes that programs serve in general.
  Explanation explain(const Sizes &) override {
    Explanation result;
    result.name = name;
    size_t number = 0;
    for (Explanation &part : model->explain()) {
      std::string prefix = "region " + std::to_string(++number) + ": ";
      for (KernelReport &kernel : part.kernels) {
        kernel.name = prefix + kernel.name;
        result.kernels.push_back(std::move(kernel));
      }
      result.constantBytes += part.constantBytes;
    }
    return result;
  }
  bool isSplit() const override { return true; }
  std::string splitText() const override {
    return name + " is split into several programs, compiled ahead of time: " +
           std::to_string(model->regionCount()) + "\n";
  }
  size_t compiledVersions() const override { return model->regionCount(); }

private:
  static std::vector<TensorSpec> specs(const std::vector<PackagedTensor> &tensors,
                                       const std::vector<Symbol> &symbols) {
    std::vector<TensorSpec> result;
    for (const PackagedTensor &tensor : tensors) {
      TensorSpec &spec = result.emplace_back(TensorSpec{tensor.name, tensor.dtype, {}});
      for (size_t i = 0; i < tensor.dims.size(); ++i) {
        auto symbol = std::ranges::find(symbols, tensor.dimNames[i], &Symbol::name);
        spec.dims.push_back(tensor.dims[i] >= 0 ? DimExpr::constant(tensor.dims[i])
                            : symbol == symbols.end()
                                ? DimExpr::constant(1)
                                : DimExpr::symbol(static_cast<unsigned>(symbol - symbols.begin())));
      }
    }
    return result;
  }

  static std::vector<ValueSpec> values(const std::vector<PackagedTensor> &tensors) {
    std::vector<ValueSpec> result;
    for (const PackagedTensor &tensor : tensors) {
      ValueSpec &spec =
          result.emplace_back(ValueSpec{tensor.name, std::string(nameOf(tensor.dtype)), {}});
      spec.shape.emplace();
      for (size_t i = 0; i < tensor.dims.size(); ++i) {
        if (tensor.dims[i] >= 0)
          spec.shape->emplace_back(tensor.dims[i]);
        else
          spec.shape->emplace_back(tensor.dimNames[i]);
      }
    }
    return result;
  }

  std::shared_ptr<const PackageSplitModel> model;
};

} // namespace

std::unique_ptr<Model::Impl> packagedModel(const Package &package, const std::string &name,
                                           const Settings &settings) {
  const Settings defaults;
  if (settings.target != defaults.target || settings.expansion != defaults.expansion ||
      !settings.accelerator.empty() || !settings.recipe.empty())
    throw Error(ErrorKind::InvalidArgument,
                name + ": expected no target, no expansion, no accelerator and no recipe for a "
                       "package, which is compiled already");
  if (settings.specialize == "always")
    throw Error(ErrorKind::InvalidArgument,
                name +
                    ": expected a model to specialize for exact shapes, got a package, which holds "
                    "compiled code only");
  if (auto split = package.splitModel(settings.program))
    return std::make_unique<SeveralPrograms>(name, settings, std::move(split));
  return std::make_unique<OneProgram>(name, settings, package.program(settings.program));
}

} // namespace headrace
