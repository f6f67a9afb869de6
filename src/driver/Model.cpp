#include "dialect/reference/Evaluator.h"
#include "driver/BackgroundWork.h"
#include "driver/Contexts.h"
#include "driver/ModelImpl.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "driver/WithCompiler.h"
#include "driver/machine/FirstCalibration.h"
#include "driver/programs/ModelFile.h"
#include "runtime/program/BindInputs.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/ThreadChoice.h"

#include <chrono>
#include <mutex>

using namespace mlir;

namespace headrace {

std::shared_ptr<Model> Model::load(const std::filesystem::path &path, const Settings &settings) {
  if (!Package::isNamedLikeOne(path)) {
    if (!settings.program.empty())
      throw Error(ErrorKind::InvalidArgument, path.filename().string() +
                                                  ": expected a package to choose program '" +
                                                  settings.program + "' from");
    return of(loadFile(path, settings), settings);
  }
  return load(*Package::open(path), path.filename().string(), settings);
}

std::shared_ptr<Model> Model::load(std::span<const std::byte> bytes, const std::string &name,
                                   const Settings &settings) {
  if (!settings.program.empty())
    throw Error(ErrorKind::InvalidArgument, name + ": expected a package to choose program '" +
                                                settings.program + "' from, got a model in memory");
  return of(loadBytes(bytes, name, settings), settings);
}

std::shared_ptr<Model> Model::of(ModelFile file, const Settings &settings) {
  auto model = file.staged ? std::make_shared<Model>(std::move(file.staged))
                           : std::make_shared<Model>(std::move(*file.program), settings);
  model->impl->metadata = std::move(file.metadata);
  model->impl->declared = std::move(file.declared);
  model->impl->notes = std::move(file.notes);
  return model;
}

std::shared_ptr<Model> Model::load(const Package &package, const std::string &name,
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
  auto impl = std::make_unique<Impl>(name);
  impl->settings = settings;
  impl->packaged = package.program(settings.program);
  impl->setInterface(impl->packaged->interface());
  return std::shared_ptr<Model>(new Model(std::move(impl)));
}

Model::Model(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Model::~Model() = default;

Model::Model(LevelOneProgram program, const Settings &settings)
    : impl(std::make_unique<Impl>(program.name)) {
  checkSettings(settings);
  impl->settings = settings;
  impl->setInterface(program.interface());
  impl->imports = std::make_unique<Imports>(std::move(program), settings.planCacheSize);
  // A recipe and a mapping are of the program that they were made for.
  bool isAsWritten = settings.recipe.empty() && settings.accelerator.empty();
  if (settings.specialize == "auto" && settings.planCacheSize > 0 && !impl->symbols.empty() &&
      isAsWritten && engine() == hostEngine)
    impl->fixed = std::make_unique<ShapeSpecializations>(
        settings.planCacheSize,
        [made = impl.get()](const Sizes &key) { return made->compileFixed(key); });
}

Model::Model(std::shared_ptr<staged::StagedProgram> program)
    : impl(std::make_unique<Impl>(program->name())) {
  impl->settings = program->settings();
  impl->setInterface(program->interface());
  impl->staged = std::move(program);
}

const std::string &Model::name() const { return impl->name; }
const std::vector<TensorSpec> &Model::inputs() const { return impl->interface.inputs; }
const std::vector<TensorSpec> &Model::outputs() const { return impl->interface.outputs; }
std::vector<TensorSpec> Model::weights() const {
  return weightSpecs(entryFunction(*impl->sourceFor("its weights").module));
}
const std::vector<std::string> &Model::symbols() const { return impl->symbols; }

const std::map<std::string, std::string> &Model::metadata() const { return impl->metadata; }
const onnx::FileNotes &Model::notes() const { return impl->notes; }
const DeclaredValues &Model::declared() const { return impl->declared; }

bool Model::isStaged() const { return impl->staged != nullptr; }

static std::vector<ValueSpec> valueSpecs(ArrayRef<TensorSpec> specs,
                                         ArrayRef<std::string> symbols) {
  std::vector<ValueSpec> result;
  for (const TensorSpec &spec : specs) {
    ValueSpec &value =
        result.emplace_back(ValueSpec{spec.name, std::string(nameOf(spec.dtype)), {}});
    value.shape.emplace();
    for (const DimExpr &dim : spec.dims) {
      if (auto size = dim.asConstant())
        value.shape->emplace_back(*size);
      else
        value.shape->emplace_back(dim.str(symbols));
    }
  }
  return result;
}

std::vector<ValueSpec> Model::inputValues() const {
  return impl->staged ? impl->staged->inputSpecs() : valueSpecs(inputs(), symbols());
}

std::vector<ValueSpec> Model::outputValues() const {
  return impl->staged ? impl->staged->outputSpecs() : valueSpecs(outputs(), symbols());
}

std::vector<RuntimeValue> asValues(std::span<const Tensor> tensors) {
  std::vector<RuntimeValue> values;
  for (const Tensor &tensor : tensors)
    values.push_back(tensor ? RuntimeValue(tensor) : RuntimeValue());
  return values;
}

std::vector<Tensor> asTensors(ArrayRef<RuntimeValue> values, ArrayRef<TensorSpec> specs,
                              const char *role) {
  std::vector<Tensor> tensors;
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!value.tensor())
      throw Error(ErrorKind::TypeMismatch,
                  std::string(role) + " '" + (i < specs.size() ? specs[i].name : "") +
                      "': expected a numeric tensor, got " + describe(value));
    tensors.push_back(*value.tensor());
  }
  return tensors;
}

std::vector<int64_t> Model::bind(std::span<const Tensor> inputs) const {
  if (impl->staged)
    return impl->staged->bind(asValues(inputs));
  if (impl->packaged)
    return impl->packaged->bind(inputs);
  bool canImportAgain = impl->imports->canImportAgain();
  std::vector<int64_t> symbols;
  try {
    if (!bindInputs(impl->interface, inputs, symbols) && !canImportAgain)
      throw Error(ErrorKind::ShapeMismatch, describeGuardFailure(impl->interface, symbols));
  } catch (const Error &) {
    // Of gradients: inputs are as large as outputs, and those are others for other sizes.
    bool isDecided = llvm::none_of(symbols, [](int64_t size) { return size == unboundSize; });
    if (!canImportAgain || !isDecided || isWithinGuards(impl->interface, symbols))
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

/// Sizes 0 and 1 get separate programs, with empty loops and with broadcasts.
static Sizes openVersionFor(std::span<const int64_t> symbols) {
  Sizes key;
  for (int64_t size : symbols)
    key.push_back(size < 2 ? std::optional(size) : std::nullopt);
  return key;
}

Sizes Model::Impl::versionFor(std::span<const int64_t> sizes) const {
  bool isExact = settings.specialize == "always" || (fixed && fixed->find(sizes));
  return isExact ? Sizes(sizes.begin(), sizes.end()) : openVersionFor(sizes);
}

std::shared_ptr<ImportedProgram> Model::Impl::programFor(const Sizes &sizes) {
  if (auto known = imports->find(sizes))
    return known;
  (void)sourceFor("its program");
  std::lock_guard lock(*compileLock);
  if (auto known = imports->find(sizes))
    return known;
  CompilerSection section;
  return imports->importFor(sizes);
}

Settings Model::Impl::settingsFor(const ImportedProgram &program) const {
  Settings own = settings;
  if (program.number > 0 && !settings.recipe.empty())
    own.recipe = followedWherePossible(settings.recipe);
  return own;
}

CompiledVersion Model::Impl::compiled(ImportedProgram &program, const Sizes &sizes) {
  VersionKey key{program.number, program.own(sizes)};
  if (CompiledVersion known = plans.find(key); known.executable)
    return known;
  std::lock_guard lock(*compileLock);
  if (CompiledVersion known = plans.find(key); known.executable)
    return known;
  auto start = Clock::now();
  (void)sourceFor("its program");
  CompiledVersion made{compileVersion(program.program, settingsFor(program), key.sizes)};
  made.microseconds = microsecondsSince(start);
  calibrateOnce(settings);
  plans.keep(key, made, settings.planCacheSize);
  return made;
}

std::shared_ptr<const Executable> Model::Impl::compileFixed(const Sizes &sizes) {
  // Whoever waits for the compiler comes first.
  InterruptionSource others([&] { return background::isUnwanted() || compileLock->isAwaited(); });
  auto program = programFor(sizes);
  std::lock_guard lock(*compileLock);
  (void)sourceFor("its program");
  return compileVersion(program->program, settingsFor(*program), program->own(sizes));
}

void Model::useThreads(int threads) {
  ThreadChoice check(threads);
  impl->threads = threads;
}

std::shared_ptr<const Executable> Model::compile(std::span<const Tensor> inputs) {
  ThreadChoice threads(impl->threads);
  if (impl->staged)
    (void)impl->sourceFor("its executable");
  if (impl->packaged)
    return impl->packaged->find(inputs);
  std::vector<int64_t> sizes = bind(inputs);
  if (impl->fixed)
    if (auto known = impl->fixed->find(sizes))
      return known;
  auto program = impl->programFor(Sizes(sizes.begin(), sizes.end()));
  return impl->compiled(*program, impl->versionFor(sizes)).executable;
}

std::vector<Tensor> Model::run(std::span<const Tensor> inputs) {
  if (impl->staged)
    return asTensors(runValues(asValues(inputs)), outputs(), "output");
  std::vector<Tensor> results(outputs().size());
  runInto(inputs, results);
  return results;
}

void Model::runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (impl->staged)
    (void)impl->sourceFor("its executable");
  ThreadChoice threads(impl->threads);
  if (!impl->fixed)
    return compile(inputs)->runInto(inputs, outputs);
  std::vector<int64_t> sizes = bind(inputs);
  if (auto known = impl->fixed->find(sizes))
    return known->runInto(inputs, outputs);
  auto program = impl->programFor(Sizes(sizes.begin(), sizes.end()));
  Sizes key = openVersionFor(sizes);
  CompiledVersion version = impl->compiled(*program, key);
  auto start = Clock::now();
  version.executable->runInto(inputs, outputs);
  if (llvm::is_contained(program->own(key), std::nullopt))
    impl->fixed->addCall(sizes, microsecondsSince(start),
                         impl->settings.specializeAfter * version.microseconds);
}

std::vector<RuntimeValue> Model::runValues(std::span<const RuntimeValue> inputs,
                                           const std::vector<bool> &wanted) {
  ThreadChoice threads(impl->threads);
  if (impl->staged)
    return impl->staged->run(inputs, staged::Evaluation::Compiled, wanted);
  return asValues(run(asTensors(ArrayRef(inputs.data(), inputs.size()), this->inputs(), "input")));
}

std::vector<RuntimeValue> Model::referenceValues(std::span<const RuntimeValue> inputs,
                                                 bool keepDouble) {
  if (impl->staged) {
    auto results = impl->staged->run(inputs, staged::Evaluation::Reference);
    for (RuntimeValue &result : results)
      if (const Tensor *tensor = result.tensor(); tensor && keepDouble)
        if (tensor->dtype() >= DType::F16 && tensor->dtype() <= DType::F32)
          result = tensor->converted(DType::F64);
    return results;
  }
  return asValues(reference(
      asTensors(ArrayRef(inputs.data(), inputs.size()), this->inputs(), "input"), keepDouble));
}

std::vector<Tensor> Model::reference(std::span<const Tensor> inputs, bool keepDouble) {
  if (impl->staged)
    return asTensors(referenceValues(asValues(inputs), keepDouble), outputs(), "output");
  (void)impl->sourceFor("reference results");
  std::vector<int64_t> symbols = bind(inputs);
  auto program = impl->programFor(Sizes(symbols.begin(), symbols.end()));
  std::lock_guard lock(*impl->compileLock);
  (void)bindInputs(program->program.interface(), inputs, symbols);
  return evaluateFunction(entryFunction(*program->program.module),
                          ArrayRef(inputs.data(), inputs.size()), symbols, keepDouble);
}

std::string Model::stagesText() const {
  return impl->staged ? impl->staged->text() : std::string();
}

size_t Model::compiledVersions() const {
  if (impl->staged)
    return impl->staged->compiledVersions();
  if (impl->packaged)
    return impl->packaged->versionCount();
  return impl->plans.size() + (impl->fixed ? impl->fixed->count() : 0);
}

void Model::finishCompiling() const {
  if (impl->staged)
    for (const auto &stage : impl->staged->stages())
      stage->model->finishCompiling();
  if (impl->fixed)
    impl->fixed->finish();
}

std::string Model::engine() const {
  return impl->packaged ? impl->packaged->engine() : findTarget(impl->settings.target).engine();
}

std::shared_ptr<Model> Model::to(const std::string &target) const {
  LevelOneProgram &source = impl->sourceFor("its program for another target");
  std::lock_guard lock(*impl->compileLock);
  CompilerSection section;
  addTarget(*source.context, findTarget(target));
  Settings settings = impl->settings;
  settings.target = target;
  auto model = std::make_shared<Model>(copied(source), settings);
  model->impl->compileLock = impl->compileLock;
  model->impl->threads = impl->threads;
  return model;
}

} // namespace headrace
