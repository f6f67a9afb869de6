#include "driver/models/SingleModel.h"

#include "dialect/reference/Evaluator.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "driver/machine/FirstCalibration.h"
#include "driver/models/WithCompiler.h"
#include "runtime/program/BindInputs.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"

#include "adaptive/BackgroundWork.h"
#include <chrono>
#include <mutex>

using namespace mlir;

namespace headrace {

SingleModel::SingleModel(LevelOneProgram program, const Settings &given)
    : Impl(program.name, given),
      compileLock(program.contextLock ? program.contextLock
                                      : std::make_shared<LongLock>("model '" + program.name + "'")),
      part(program.part), imports((checkSettings(given), std::move(program)), given.planCacheSize),
      versions(given.planCacheSize, [this](const VersionKey &key, const CompiledVersion &) {
        return versionName(key.named);
      }) {
  source().contextLock = compileLock;
  setInterface(source().interface());
  // A recipe and a mapping are of the program that they were made for.
  bool isAsWritten = settings.recipe.empty() && settings.accelerator.empty();
  if (settings.specialize != "auto" || settings.planCacheSize == 0 || symbols.empty() ||
      !isAsWritten || engine() != hostEngine)
    return;
  exact = std::make_unique<adaptive::ExactVersions>(
      settings.planCacheSize,
      [this](const std::vector<int64_t> &sizes) { return compileExact(sizes); },
      adaptive::ExactVersions::Names{[this](const std::vector<int64_t> &sizes) {
                                       return versionName(Sizes(sizes.begin(), sizes.end()));
                                     },
                                     [this](const std::vector<int64_t> &sizes) {
                                       return versionName(adaptive::generalSizes(sizes));
                                     }});
}

std::string SingleModel::engine() const { return findTarget(settings.target).engine(); }

void SingleModel::requireUnchangedFiles() {
  for (const auto &file : source().files)
    file->requireUnchanged();
}

std::vector<int64_t> SingleModel::bind(std::span<const Tensor> inputs) const {
  bool canImportAgain = imports.canImportAgain();
  std::vector<int64_t> symbols;
  try {
    if (!bindInputs(interface, inputs, symbols) && !canImportAgain)
      throw Error(ErrorKind::ShapeMismatch, describeGuardFailure(interface, symbols));
  } catch (const Error &) {
    // Of gradients: inputs are as large as outputs, and those are others for other sizes.
    bool isDecided = llvm::none_of(symbols, [](int64_t size) { return size == unboundSize; });
    if (!canImportAgain || !isDecided || isWithinGuards(interface, symbols))
      throw;
  }
  return symbols;
}

static std::shared_ptr<const Executable>
compileVersion(LevelOneProgram &source, const Settings &settings, const Sizes &key) {
  CompilerSection section;
  auto executable = withCompiler(source, settings, key, [](Compiler &compiler, ModuleOp program) {
    return compiler.compile(program);
  });
  for (const auto &file : source.files)
    file->forgetPages(); // weights that were folded or packed are not read again
  return executable;
}

using Clock = std::chrono::steady_clock;

static double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

adaptive::VersionName SingleModel::versionName(const Sizes &sizes) const {
  std::string text;
  if (part.empty()) {
    for (size_t i = 0; i < sizes.size(); ++i)
      text +=
          (i ? ", " : "") + symbols[i] + (sizes[i] ? " = " + std::to_string(*sizes[i]) : " >= 2");
    return {name, text};
  }
  for (const TensorSpec &input : interface.inputs) {
    text += (text.empty() ? "" : ", ") + input.name + ": ";
    for (size_t i = 0; i < input.dims.size(); ++i) {
      std::optional<int64_t> size = input.dims[i].asConstant();
      for (size_t symbol = 0; symbol < sizes.size() && !size; ++symbol)
        if (input.dims[i] == DimExpr::symbol(static_cast<int>(symbol)))
          size = sizes[symbol];
      text += (i ? "x" : "") + (size ? std::to_string(*size) : "?");
    }
  }
  return {name + ", " + part, text};
}

Sizes SingleModel::versionFor(std::span<const int64_t> sizes) const {
  bool isExact = settings.specialize == "always" || (exact && exact->find(sizes));
  return isExact ? Sizes(sizes.begin(), sizes.end())
                 : adaptive::generalSizes({sizes.begin(), sizes.end()});
}

std::shared_ptr<ImportedProgram> SingleModel::programFor(const Sizes &sizes) {
  if (auto known = imports.find(sizes))
    return known;
  requireUnchangedFiles();
  std::lock_guard lock(*compileLock);
  if (auto known = imports.find(sizes))
    return known;
  CompilerSection section;
  return imports.importFor(sizes);
}

Settings SingleModel::settingsFor(const ImportedProgram &program) const {
  Settings own = settings;
  if (program.number > 0 && !settings.recipe.empty())
    own.recipe = followedWherePossible(settings.recipe);
  return own;
}

std::shared_ptr<const CompiledVersion> SingleModel::compiled(ImportedProgram &program,
                                                             const Sizes &sizes) {
  VersionKey key{program.number, program.own(sizes), sizes};
  if (auto known = versions.find(key))
    return known;
  std::lock_guard lock(*compileLock);
  if (auto known = versions.find(key))
    return known;
  auto start = Clock::now();
  requireUnchangedFiles();
  auto made = std::make_shared<CompiledVersion>();
  made->executable = compileVersion(program.program, settingsFor(program), key.sizes);
  made->microseconds = microsecondsSince(start);
  calibrateOnce(settings);
  if (adaptive::isCompilationLogged())
    adaptive::logVersion(adaptive::VersionEvent::Compiled, versionName(sizes),
                         program.number == 0 ? "first call with such sizes"
                                             : "first call outside the guards of the import",
                         made->microseconds / 1000);
  versions.add(key, made);
  return made;
}

std::shared_ptr<const Executable>
SingleModel::compileExact(const std::vector<int64_t> &exactSizes) {
  Sizes sizes(exactSizes.begin(), exactSizes.end());
  // Whoever waits for the compiler comes first.
  InterruptionSource others(
      [&] { return adaptive::background::isUnwanted() || compileLock->isAwaited(); });
  auto program = programFor(sizes);
  std::lock_guard lock(*compileLock);
  requireUnchangedFiles();
  return compileVersion(program->program, settingsFor(*program), program->own(sizes));
}

std::shared_ptr<const Executable> SingleModel::compile(std::span<const Tensor> inputs) {
  std::vector<int64_t> sizes = bind(inputs);
  if (exact)
    if (auto known = exact->find(sizes))
      return known;
  auto program = programFor(Sizes(sizes.begin(), sizes.end()));
  return compiled(*program, versionFor(sizes))->executable;
}

void SingleModel::addCall(const ImportedProgram &program, std::span<const int64_t> sizes,
                          double microseconds, double compileMicroseconds) {
  Sizes general = adaptive::generalSizes({sizes.begin(), sizes.end()});
  if (llvm::is_contained(program.own(general), std::nullopt))
    exact->addCall(sizes, microseconds, settings.specializeAfter * compileMicroseconds);
}

void SingleModel::addCall(std::span<const Tensor> inputs, double microseconds) {
  if (!exact)
    return;
  std::vector<int64_t> sizes = bind(inputs);
  if (exact->find(sizes))
    return;
  auto program = programFor(Sizes(sizes.begin(), sizes.end()));
  auto version = compiled(*program, adaptive::generalSizes(sizes));
  addCall(*program, sizes, microseconds, version->microseconds);
}

void SingleModel::runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (!exact)
    return compile(inputs)->runInto(inputs, outputs);
  std::vector<int64_t> sizes = bind(inputs);
  if (auto known = exact->find(sizes))
    return known->runInto(inputs, outputs);
  auto program = programFor(Sizes(sizes.begin(), sizes.end()));
  auto version = compiled(*program, adaptive::generalSizes(sizes));
  auto start = Clock::now();
  version->executable->runInto(inputs, outputs);
  addCall(*program, sizes, microsecondsSince(start), version->microseconds);
}

std::vector<Tensor> SingleModel::reference(std::span<const Tensor> inputs, bool keepDouble) {
  requireUnchangedFiles();
  std::vector<int64_t> sizes = bind(inputs);
  auto program = programFor(Sizes(sizes.begin(), sizes.end()));
  std::lock_guard lock(*compileLock);
  (void)bindInputs(program->program.interface(), inputs, sizes);
  return evaluateFunction(entryFunction(*program->program.module),
                          ArrayRef(inputs.data(), inputs.size()), sizes, keepDouble);
}

Explanation SingleModel::explain(const Sizes &sizes) {
  requireUnchangedFiles();
  Sizes values = checked(sizes);
  auto program = programFor(values);
  std::lock_guard lock(*compileLock);
  CompilerSection section;
  return withCompiler(program->program, settingsFor(*program), program->own(values),
                      [](Compiler &compiler, ModuleOp module) { return compiler.explain(module); });
}

std::vector<TensorSpec> SingleModel::weights() {
  requireUnchangedFiles();
  return weightSpecs(entryFunction(*source().module));
}

size_t SingleModel::compiledVersions() const {
  return versions.size() + (exact ? exact->count() : 0);
}

void SingleModel::finishCompiling() const {
  if (exact)
    exact->finish();
}

} // namespace headrace
