#include "driver/programs/ModelFile.h"

#include "driver/Compiler.h"
#include "driver/Contexts.h"
#include "driver/DeclaredValues.h"
#include "driver/split/SplitProgram.h"
#include "frontend/aten/exported/Importer.h"
#include "frontend/onnx/import/Importer.h"
#include "frontend/onnx/read/OnnxReader.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Text.h"
#include "runtime/tensor/TensorFiles.h"

#include <algorithm>

using namespace mlir;

namespace headrace {

/// An input that is an initializer, too, is a constant, unless it is given.
static void dropDefaults(onnx::Graph &graph, const std::vector<std::string> &givenInputs) {
  for (const std::string &name : givenInputs) {
    bool isInput =
        std::ranges::find(graph.inputs, name, &onnx::ValueInfo::name) != graph.inputs.end();
    auto isOfName = [&](const onnx::Initializer &initializer) { return initializer.name == name; };
    if (!isInput || std::erase_if(graph.initializers, isOfName) == 0)
      throw Error(ErrorKind::InvalidArgument,
                  "input " + inQuotes(name) + ": expected an input of the model with a default");
  }
}

/// A program that PyTorch exported: always one program.
static ModelFile exported(std::span<const std::byte> bytes,
                          const std::shared_ptr<const void> &owner, const std::string &name,
                          const Settings &settings) {
  CompilerSection section;
  graph::GraphBuilder builder(contextFor(findTarget(settings.target)), name);
  DeclaredValues declared;
  for (const aten::State &state :
       aten::importExported(bytes, owner, name, settings.givenInputs, builder)) {
    ValueSpec spec{state.name, std::string(nameOf(state.type)), {}};
    spec.shape.emplace(state.shape.begin(), state.shape.end());
    declared.defaults.push_back(std::move(spec));
  }
  LevelOneProgram program{name, builder.context(), builder.finish()};
  return {std::move(program), nullptr, {}, std::move(declared), {}};
}

static ModelFile loadExported(const std::filesystem::path &path, const Settings &settings) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  ModelFile model =
      exported({file->data(), file->size()}, file, path.filename().string(), settings);
  if (file->size() > MappedFile::copiedBytes)
    model.program->files.push_back(file);
  return model;
}

ModelFile loadFile(const std::filesystem::path &path, const Settings &settings, Prefer prefer) {
  checkSettings(settings);
  if (aten::isNamedLikeExported(path))
    return loadExported(path, settings);
  onnx::Model file = onnx::readModel(path);
  dropDefaults(file.graph, settings.givenInputs);
  ModelFile result = programOf(std::move(file), path.filename().string(), settings, prefer);
  result.notes = onnx::readNotes(path);
  return result;
}

ModelFile loadBytes(std::span<const std::byte> bytes, const std::string &name,
                    const Settings &settings) {
  checkSettings(settings);
  if (aten::isLikeExported(bytes)) {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    return exported(*copy, copy, name, settings);
  }
  onnx::Model file = onnx::readModel(bytes, nullptr, {}, name);
  dropDefaults(file.graph, settings.givenInputs);
  ModelFile result = programOf(std::move(file), name, settings, Prefer::Speed);
  result.notes = onnx::readNotes(bytes);
  return result;
}

static LevelOneProgram asProgram(const std::shared_ptr<MLIRContext> &context,
                                 const onnx::Model &file, const std::string &name,
                                 OwningOpRef<ModuleOp> module) {
  LevelOneProgram program{name, context, std::move(module)};
  std::vector<Tensor> weights;
  for (const onnx::Initializer &initializer : file.graph.initializers)
    weights.push_back(initializer.tensor);
  program.files = filesHolding(weights);
  return program;
}

/// The model as one program; nothing if it depends on data, and then `reason` says how.
static std::optional<LevelOneProgram> importModel(const std::shared_ptr<const onnx::Model> &file,
                                                  const std::string &name, const Settings &settings,
                                                  std::string &reason) {
  std::shared_ptr<MLIRContext> context = contextFor(findTarget(settings.target));
  CompilerSection section;
  onnx::ImportedModel imported = onnx::importModel(*file, *context, name);
  if (imported.dependence) {
    reason = imported.dependence->error.what();
    return std::nullopt;
  }
  LevelOneProgram program = asProgram(context, *file, name, std::move(imported.module));
  // The file as it was read is kept only if it may be imported again.
  auto isGuarded = [](const Symbol &symbol) { return symbol.min > 0 || symbol.max < INT64_MAX; };
  if (std::ranges::any_of(program.interface().symbols, isGuarded))
    program.importFor = [context, file, name](const SizeRanges &sizes) {
      CompilerSection section;
      onnx::ImportedModel again = onnx::importModel(*file, *context, name, sizes);
      if (again.dependence)
        throw again.dependence->error;
      return asProgram(context, *file, name, std::move(again.module));
    };
  return program;
}

ModelFile programOf(onnx::Model file, const std::string &name, const Settings &settings,
                    Prefer prefer) {
  std::string reason;
  auto read = std::make_shared<onnx::Model>(std::move(file));
  DeclaredValues declared = declaredValues(read->graph);
  // What is made for one program keeps it one.
  bool isFree = prefer == Prefer::Speed && settings.recipe.empty() && settings.accelerator.empty();
  bool isSplit = split::SplitProgram::isNeededFor(*read) ||
                 (isFree && split::SplitProgram::isCheaperFor(*read, settings.target));
  if (!isSplit)
    if (std::optional<LevelOneProgram> program = importModel(read, name, settings, reason))
      return {std::move(program), nullptr, read->metadata, std::move(declared), {}};
  std::map<std::string, std::string> metadata = read->metadata;
  return {std::nullopt,
          std::make_shared<split::SplitProgram>(name, std::move(*read), settings, reason),
          std::move(metadata),
          std::move(declared),
          {}};
}

LevelOneProgram importFile(const std::filesystem::path &path, const Settings &settings) {
  ModelFile file = loadFile(path, settings, Prefer::OneProgram);
  if (file.splitProgram)
    throw Error(
        ErrorKind::Unsupported,
        path.filename().string() +
            ": expected a model that is one program, got one split into several programs, because "
            "its shapes, control flow or values depend on data");
  return std::move(*file.program);
}

} // namespace headrace
