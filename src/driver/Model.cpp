#include "driver/Model.h"

#include "dialect/reference/Evaluator.h"
#include "driver/Compiler.h"
#include "driver/LevelOneProgram.h"
#include "driver/ProgramBuilder.h"
#include "driver/Specialize.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/OnnxReader.h"
#include "runtime/BindInputs.h"
#include "runtime/Error.h"

#include <list>
#include <mutex>

using namespace mlir;

namespace headrace {

const std::vector<PhaseInfo> &phases() {
  static const std::vector<PhaseInfo> list = [] {
    std::vector<PhaseInfo> result;
    for (const Phase &phase : compilerPhases())
      result.push_back({phase.name.str(), phase.summary.str()});
    return result;
  }();
  return list;
}

using Sizes = std::vector<std::optional<int64_t>>;

struct Model::Impl {
  std::string name;
  Settings settings;
  std::shared_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> imported;
  /// Interface of the program as loaded, any size allowed; used to check and bind inputs.
  Program interface;
  std::vector<std::string> symbols;

  /// Versions compiled so far, most recently used first.
  std::list<std::pair<Sizes, std::shared_ptr<const Executable>>> versions;
  mutable std::mutex versionsMutex;
  /// One compilation at a time: they share the context.
  std::mutex compileMutex;

  Sizes checked(const Sizes &sizes) const {
    if (sizes.size() > symbols.size())
      throw Error(ErrorKind::InvalidArgument,
                  name + ": the program has " + std::to_string(symbols.size()) +
                      " symbolic sizes, " + std::to_string(sizes.size()) + " values were given");
    Sizes full = sizes;
    full.resize(symbols.size());
    return full;
  }

  std::shared_ptr<const Executable> find(const Sizes &key) {
    std::lock_guard lock(versionsMutex);
    for (auto it = versions.begin(); it != versions.end(); ++it)
      if (it->first == key) {
        versions.splice(versions.begin(), versions, it);
        return it->second;
      }
    return nullptr;
  }

  void keep(const Sizes &key, const std::shared_ptr<const Executable> &executable) {
    std::lock_guard lock(versionsMutex);
    versions.emplace_front(key, executable);
    while (versions.size() > settings.planCacheSize)
      versions.pop_back();
  }
};

Model::~Model() = default;

static void checkSettings(const Settings &settings) {
  const std::string &expansion = settings.expansion;
  if (expansion != "auto" && expansion != "generated" && expansion != "openblas")
    throw Error(ErrorKind::InvalidArgument,
                "unknown expansion '" + expansion + "'; expected auto, generated or openblas");
}

std::shared_ptr<Model> Model::load(const std::filesystem::path &path, const Settings &settings) {
  checkSettings(settings);
  std::string name = path.filename().string();
  onnx::Model file = onnx::readModel(path);
  LevelOneProgram program{name, makeContext(findTarget(settings.target)), {}};
  program.module = onnx::importModel(file, *program.context, name);
  return std::make_shared<Model>(std::move(program), settings);
}

Model::Model(LevelOneProgram program, const Settings &settings) : impl(std::make_unique<Impl>()) {
  checkSettings(settings);
  impl->name = std::move(program.name);
  impl->settings = settings;
  impl->context = std::move(program.context);
  impl->imported = std::move(program.module);
  func::FuncOp main = entryFunction(*impl->imported);
  impl->symbols = symbolNames(main);
  impl->interface.name = impl->name;
  impl->interface.inputs = inputSpecs(main);
  impl->interface.outputs = outputSpecs(main);
  impl->interface.symbols = symbolGuards(main, /*least=*/0);
}

const std::string &Model::name() const { return impl->name; }
const std::vector<TensorSpec> &Model::inputs() const { return impl->interface.inputs; }
const std::vector<TensorSpec> &Model::outputs() const { return impl->interface.outputs; }
const std::vector<std::string> &Model::symbols() const { return impl->symbols; }

std::vector<int64_t> Model::bind(std::span<const Tensor> inputs) const {
  std::vector<int64_t> symbols;
  if (!bindInputs(impl->interface, inputs, symbols))
    throw Error(ErrorKind::ShapeMismatch, describeGuardFailure(impl->interface, symbols));
  return symbols;
}

std::shared_ptr<const Executable> Model::compile(std::span<const Tensor> inputs) {
  // Sizes 0 and 1 are programs of their own: empty loops, and broadcasts that are none.
  Sizes key;
  for (int64_t size : bind(inputs))
    key.push_back(size < 2 ? std::optional(size) : std::nullopt);
  if (auto known = impl->find(key))
    return known;
  std::lock_guard lock(impl->compileMutex);
  if (auto known = impl->find(key))
    return known;
  OwningOpRef<ModuleOp> program = specializeProgram(*impl->imported, key);
  auto executable = Compiler(impl->context, impl->settings, impl->name).compile(*program);
  impl->keep(key, executable);
  return executable;
}

std::vector<Tensor> Model::run(std::span<const Tensor> inputs) {
  return compile(inputs)->run(inputs);
}

std::vector<Tensor> Model::reference(std::span<const Tensor> inputs, bool keepDouble) {
  std::vector<int64_t> symbols = bind(inputs);
  std::lock_guard lock(impl->compileMutex);
  return evaluateFunction(entryFunction(*impl->imported), ArrayRef(inputs.data(), inputs.size()),
                          symbols, keepDouble);
}

std::string Model::ir(const std::string &phase, const Sizes &sizes) {
  bool known = llvm::any_of(phases(), [&](const PhaseInfo &info) { return info.name == phase; });
  if (!known) {
    std::string names;
    for (const PhaseInfo &info : phases())
      names += (names.empty() ? "" : ", ") + info.name;
    throw Error(ErrorKind::InvalidArgument,
                "unknown phase '" + phase + "'; the phases are " + names);
  }
  std::lock_guard lock(impl->compileMutex);
  OwningOpRef<ModuleOp> program = specializeProgram(*impl->imported, impl->checked(sizes));
  Compiler(impl->context, impl->settings, impl->name).runPhases(*program, phase);
  std::string text;
  llvm::raw_string_ostream os(text);
  program->print(os, OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(64));
  return text;
}

Explanation Model::explain(const Sizes &sizes) {
  std::lock_guard lock(impl->compileMutex);
  OwningOpRef<ModuleOp> program = specializeProgram(*impl->imported, impl->checked(sizes));
  return Compiler(impl->context, impl->settings, impl->name).explain(*program);
}

size_t Model::compiledVersions() const {
  std::lock_guard lock(impl->versionsMutex);
  return impl->versions.size();
}

} // namespace headrace
