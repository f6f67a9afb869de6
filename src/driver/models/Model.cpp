#include "driver/Contexts.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "driver/models/PackagedModel.h"
#include "driver/models/SingleModel.h"
#include "driver/models/SplitModel.h"
#include "driver/programs/ModelFile.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/ThreadChoice.h"

#include <mutex>

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
  auto model = file.splitProgram ? std::make_shared<Model>(std::move(file.splitProgram))
                                 : std::make_shared<Model>(std::move(*file.program), settings);
  model->impl->metadata = std::move(file.metadata);
  model->impl->declared = std::move(file.declared);
  model->impl->notes = std::move(file.notes);
  return model;
}

std::shared_ptr<Model> Model::load(const Package &package, const std::string &name,
                                   const Settings &settings) {
  return std::shared_ptr<Model>(new Model(packagedModel(package, name, settings)));
}

Model::Model(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Model::~Model() = default;

Model::Model(LevelOneProgram program, const Settings &settings)
    : impl(std::make_unique<SingleModel>(std::move(program), settings)) {}

Model::Model(std::shared_ptr<split::SplitProgram> program)
    : impl(std::make_unique<SplitModel>(std::move(program))) {}

const std::string &Model::name() const { return impl->name; }
const std::vector<TensorSpec> &Model::inputs() const { return impl->interface.inputs; }
const std::vector<TensorSpec> &Model::outputs() const { return impl->interface.outputs; }
std::vector<TensorSpec> Model::weights() const { return impl->weights(); }
const std::vector<std::string> &Model::symbols() const { return impl->symbols; }

const std::map<std::string, std::string> &Model::metadata() const { return impl->metadata; }
const onnx::FileNotes &Model::notes() const { return impl->notes; }
const DeclaredValues &Model::declared() const { return impl->declared; }

std::vector<ValueSpec> Model::inputValues() const { return impl->inputValues(); }
std::vector<ValueSpec> Model::outputValues() const { return impl->outputValues(); }
bool Model::isSplit() const { return impl->isSplit(); }
std::string Model::splitText() const { return impl->splitText(); }
std::string Model::engine() const { return impl->engine(); }

void Model::useThreads(int threads) {
  ThreadChoice check(threads);
  impl->threads = threads;
}

std::vector<int64_t> Model::bind(std::span<const Tensor> inputs) const {
  return impl->bind(inputs);
}

std::shared_ptr<const Executable> Model::compile(std::span<const Tensor> inputs) {
  ThreadChoice threads(impl->threads);
  return impl->compile(inputs);
}

void Model::addCall(std::span<const Tensor> inputs, double microseconds) {
  impl->addCall(inputs, microseconds);
}

std::vector<Tensor> Model::run(std::span<const Tensor> inputs) {
  ThreadChoice threads(impl->threads);
  return impl->run(inputs);
}

void Model::runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  ThreadChoice threads(impl->threads);
  impl->runInto(inputs, outputs);
}

std::vector<RuntimeValue> Model::runValues(std::span<const RuntimeValue> inputs,
                                           const std::vector<bool> &wanted) {
  ThreadChoice threads(impl->threads);
  return impl->runValues(inputs, wanted);
}

std::vector<RuntimeValue> Model::runProfiled(std::span<const RuntimeValue> inputs,
                                             std::vector<ProfiledStep> &steps) {
  ThreadChoice threads(impl->threads);
  return impl->runProfiled(inputs, steps);
}

std::vector<ProfiledStep> Model::profileSteps(std::span<const RuntimeValue> inputs, int calls) {
  return impl->profileSteps(inputs, calls);
}

std::vector<Tensor> Model::reference(std::span<const Tensor> inputs, bool keepDouble) {
  return impl->reference(inputs, keepDouble);
}

std::vector<RuntimeValue> Model::referenceValues(std::span<const RuntimeValue> inputs,
                                                 bool keepDouble) {
  return impl->referenceValues(inputs, keepDouble);
}

std::vector<RuntimeValue> Model::roundedReferenceValues(std::span<const RuntimeValue> inputs,
                                                        uint64_t seed, double scale) {
  return impl->roundedReferenceValues(*this, inputs, seed, scale);
}

Explanation Model::explain(const Sizes &sizes) { return impl->explain(sizes); }
size_t Model::compiledVersions() const { return impl->compiledVersions(); }
void Model::finishCompiling() const { impl->finishCompiling(); }

LevelOneProgram Model::copyOfProgram() const {
  SingleModel &single = impl->single("its program");
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  return copied(single.source());
}

std::shared_ptr<Model> Model::to(const std::string &target) const {
  SingleModel &single = impl->single("its program for another target");
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  addTarget(*single.source().context, findTarget(target));
  Settings settings = impl->settings;
  settings.target = target;
  auto model = std::make_unique<SingleModel>(copied(single.source()), settings);
  model->threads = impl->threads;
  return std::shared_ptr<Model>(new Model(std::move(model)));
}

} // namespace headrace
