#include "driver/package/PackageCompiler.h"

#include "driver/CompiledConstants.h"
#include "driver/Compiler.h"
#include "driver/Contexts.h"
#include "driver/LevelOneProgram.h"
#include "driver/RunPasses.h"
#include "driver/Specialize.h"
#include "driver/models/Imports.h"
#include "driver/package/SplitModelTrial.h"
#include "driver/programs/ModelFile.h"
#include "package/Code.h"
#include "package/Manifest.h"
#include "package/Writer.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "target/link/Link.h"
#include "transform/choices/ProgramRecipe.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <list>

using namespace mlir;

namespace headrace {

namespace {

bool allows(const Symbol &symbol, const std::optional<int64_t> &size) {
  return size ? symbol.min <= *size && *size <= symbol.max : symbol.max >= 2;
}

Sizes fixedSizes(const Program &interface, const PackageSettings &settings) {
  Sizes fixed(interface.symbols.size());
  for (auto &[name, value] : settings.sizes) {
    auto symbol = llvm::find_if(interface.symbols,
                                [&, &wanted = name](const Symbol &s) { return s.name == wanted; });
    if (symbol == interface.symbols.end())
      throw Error(ErrorKind::InvalidArgument,
                  interface.name + ": there is no dynamic dimension '" + name + "'");
    if (value < 0)
      throw Error(ErrorKind::InvalidArgument,
                  interface.name + ": size '" + name + "' cannot be " + std::to_string(value));
    fixed[symbol - interface.symbols.begin()] = value;
  }
  return fixed;
}

const std::string &nameOf(const PackagedProgram &program) { return program.interface.name; }
const std::string &nameOf(const PackagedScript &script) { return script.name; }
const std::string &nameOf(const PackagedSplitModel &model) { return model.name; }

/// Versions of a region: no trial run with samples of many sizes needs more.
constexpr size_t kMaxTrialVersions = 64;

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

} // namespace

std::vector<Sizes> packagedSizes(const Program &interface, const Sizes &fixed) {
  const std::vector<Symbol> &symbols = interface.symbols;
  std::vector<size_t> open;
  for (size_t i = 0; i < symbols.size(); ++i)
    if (!fixed[i])
      open.push_back(i);
  std::vector<Sizes> versions = {fixed};
  if (open.size() <= 2) {
    for (size_t symbol : open)
      for (size_t i = 0, before = versions.size(); i < before; ++i)
        for (int64_t size : {1, 0}) {
          versions.push_back(versions[i]);
          versions.back()[symbol] = size;
        }
  } else {
    Sizes ones = fixed;
    for (size_t symbol : open) {
      ones[symbol] = 1;
      for (int64_t size : {1, 0}) {
        versions.push_back(fixed);
        versions.back()[symbol] = size;
      }
    }
    versions.push_back(ones);
  }
  std::erase_if(versions, [&](const Sizes &sizes) {
    for (size_t symbol : open)
      if (!allows(symbols[symbol], sizes[symbol]))
        return true;
    return false;
  });
  return versions;
}

struct CompiledPackage::Impl {
  struct Code {
    Settings settings;
    AotCode code; // distinct
    llvm::StringSet<> known;
  };

  /// Whether the code is for another engine than the host's.
  static bool isOther(const Code &code) {
    return findTarget(code.settings.target).engine() != hostEngine;
  }

  void addTarget(const std::string &name, const PackageSettings &settings) {
    Code &entry = code.emplace_back();
    entry.settings.target = name;
    entry.settings.fallback = settings.fallback;
    entry.settings.expansion = settings.expansion;
    entry.settings.accelerator = settings.accelerator;
    entry.settings.recipe = settings.recipe;
    entry.settings.givenInputs = settings.givenInputs;
    entry.settings.tuning = settings.tuning;
    contents.code.push_back(findTarget(entry.settings.target).needs());
  }

  /// Weights packed for the widest vectors serve all: a package holds them once.
  void shareWeights() {
    int64_t widest = 0;
    for (const Code &entry : code)
      widest = std::max(widest, findTarget(entry.settings.target).machine().vectorBytes);
    for (Code &entry : code)
      entry.settings.sharedVectorBytes = widest;
  }

  std::string newName(const std::filesystem::path &path) const {
    std::string name = path.stem().string();
    auto isTaken = [&](const auto &other) { return nameOf(other) == name; };
    if (llvm::any_of(contents.programs, isTaken) || llvm::any_of(contents.scripts, isTaken) ||
        llvm::any_of(contents.splitModels, isTaken))
      throw Error(ErrorKind::InvalidArgument,
                  path.string() + ": the package has a program '" + name + "' already");
    return name;
  }

  /// The segments of a script are met with sizes of 2 or more: 0 and 1 are part of what they are.
  void addScript(const std::filesystem::path &path, const PackageSettings &settings) {
    std::string name = newName(path);
    const Target &target = findTarget(code.front().settings.target);
    if (target.engine() != hostEngine)
      throw Error(ErrorKind::Unsupported, path.string() +
                                              ": expected the target cpu for a script, got " +
                                              target.name().str());
    if (settings.progress)
      settings.progress(name + ": a trial run");
    std::shared_ptr<MLIRContext> context = contextFor(target);
    script::TriedScript tried = script::tryScript(path, settings.sample, context);
    for (size_t i = 0; i < tried.segments.size(); ++i) {
      auto &[key, given] = tried.segments[i];
      if (settings.progress)
        settings.progress(name + ", segment " + std::to_string(i + 1) + " of " +
                          std::to_string(tried.segments.size()));
      LevelOneProgram &source = sources.emplace_back(std::move(given));
      PackagedProgram program{source.interface(), {}};
      for (size_t c = 0; c < code.size(); ++c)
        addVersion(program, source, c, Sizes(program.interface.symbols.size()), true);
      tried.script.segments.push_back({key, std::move(program)});
    }
    contents.scripts.push_back(std::move(tried.script));
  }

  void addModel(const std::filesystem::path &path, const PackageSettings &settings) {
    ModelFile file = loadFile(path, code.front().settings, Prefer::OneProgram);
    if (file.splitProgram)
      addSplitModel(path, settings);
    else
      addProgram(path, std::move(*file.program), settings);
  }

  /// The regions that trial runs reach, with their sizes dynamic as far as the samples differ.
  void addSplitModel(const std::filesystem::path &path, const PackageSettings &settings) {
    std::string name = newName(path);
    const Target &target = findTarget(code.front().settings.target);
    if (target.engine() != hostEngine)
      throw Error(ErrorKind::Unsupported,
                  path.filename().string() +
                      ": expected the target cpu for a model that is split into several programs, "
                      "got " +
                      target.name().str());
    if (settings.progress)
      settings.progress(name + ": trial runs");
    Settings here; // runs on this machine, whatever it is compiled for
    here.recipe = settings.recipe;
    here.givenInputs = settings.givenInputs;
    here.tuning = settings.tuning;
    here.planCacheSize = kMaxTrialVersions;
    here.specialize = "never";
    std::shared_ptr<split::SplitProgram> model =
        loadFile(path, here, Prefer::OneProgram).splitProgram;
    std::map<std::string, int64_t> fixed(settings.sizes.begin(), settings.sizes.end());
    std::vector<std::string> symbols;
    for (const Symbol &symbol : model->interface().symbols)
      symbols.push_back(symbol.name);
    for (const auto &[size, value] : fixed)
      if (!llvm::is_contained(symbols, size))
        throw Error(ErrorKind::InvalidArgument,
                    model->name() + ": there is no dynamic dimension '" + size + "'");
    std::vector<std::vector<RuntimeValue>> samples;
    if (settings.samplesOf)
      samples = settings.samplesOf(Model(model));
    if (samples.empty())
      samples = randomSamples(*model, fixed);
    TriedSplitModel tried = trySplitModel(*model, name, samples, fixed);
    for (const std::string &note : tried.notes)
      if (settings.note)
        settings.note(note);
    for (size_t i = 0; i < tried.programs.size(); ++i) {
      if (settings.progress)
        settings.progress(name + ", program " + std::to_string(i + 1) + " of " +
                          std::to_string(tried.programs.size()));
      LevelOneProgram &source = sources.emplace_back(std::move(tried.programs[i]));
      PackagedProgram program{source.interface(), {}};
      std::vector<Sizes> versions =
          packagedSizes(program.interface, Sizes(program.interface.symbols.size()));
      for (size_t c = 0; c < code.size(); ++c)
        for (size_t v = 0; v < versions.size(); ++v)
          addVersion(program, source, c, versions[v], /*isGeneral=*/v == 0);
      tried.model.regions[i].program = std::move(program);
    }
    contents.splitModels.push_back(std::move(tried.model));
    splitModels.push_back(std::move(model));
  }

  void addProgram(const std::filesystem::path &path, LevelOneProgram given,
                  const PackageSettings &settings) {
    Imports &imports = models.emplace_back(std::move(given), 1);
    Sizes fixed = fixedSizes(imports.first().interface(), settings);
    std::shared_ptr<ImportedProgram> imported = imports.find(fixed);
    if (!imported)
      imported = imports.importFor(fixed);
    LevelOneProgram &source = imported->program;
    PackagedProgram program{source.interface(), {}};
    program.interface.name = newName(path);
    std::vector<Sizes> versions = packagedSizes(program.interface, imported->own(fixed));
    for (size_t c = 0; c < code.size(); ++c)
      for (size_t v = 0; v < versions.size(); ++v) {
        if (settings.progress)
          settings.progress(source.name + " for " + contents.code[c].level + ", version " +
                            std::to_string(v + 1) + " of " + std::to_string(versions.size()));
        addVersion(program, source, c, versions[v], /*isGeneral=*/v == 0);
      }
    contents.programs.push_back(std::move(program));
  }

  void addVersion(PackagedProgram &program, LevelOneProgram &source, size_t index,
                  const Sizes &sizes, bool isGeneral) {
    if (tryVersion(program, source, index, sizes, isGeneral, code[index].settings))
      return;
    // A recipe speaks of sizes of 2 or more; others follow it as far as they can.
    Settings lenient = code[index].settings;
    lenient.recipe = followedWherePossible(lenient.recipe);
    if (!code[index].settings.recipe.empty())
      (void)tryVersion(program, source, index, sizes, isGeneral, lenient);
  }

  /// False for sizes that a model cannot have, such as no tokens at all, which are an error of the
  /// call, or that cannot follow the recipe. The program for all sizes throws.
  bool tryVersion(PackagedProgram &program, LevelOneProgram &source, size_t index,
                  const Sizes &sizes, bool isGeneral, const Settings &settings) {
    CompiledConstants constants(source.context.get());
    OwningOpRef<ModuleOp> module = specializeProgram(*source.module, sizes);
    AotCode added;
    LoweredProgram compiled;
    try {
      compiled = Compiler(source.context, settings, source.name).compileAot(*module, added);
    } catch (const Error &) {
      if (isGeneral)
        throw;
      return false;
    }
    compiled.program.name = program.interface.name;
    Code &entry = code[index];
    for (KernelObject &object : added.objects)
      if (entry.known.insert(object.symbol).second)
        entry.code.objects.push_back(std::move(object));
    if (isOther(entry) && !entry.code.objects.empty())
      contents.hostCode[index] = findTarget(entry.settings.fallback).needs();
    for (DeviceImage &image : added.images)
      if (entry.known.insert(image.name).second)
        entry.code.images.push_back(std::move(image));
    if (isGeneral && keepsIr)
      ir += "// " + program.interface.name + " for " + contents.code[index].level + "\n" +
            loweredText(source, sizes, settings) + "\n";
    program.versions.push_back(
        {index, sizes, std::move(compiled.program), std::move(compiled.notes)});
    return true;
  }

  /// All kernels of a version at the lowest level; those whose code is kept are not lowered for it.
  static std::string loweredText(LevelOneProgram &source, const Sizes &sizes,
                                 const Settings &settings) {
    OwningOpRef<ModuleOp> module = specializeProgram(*source.module, sizes);
    Compiler(source.context, settings, source.name).runPhases(*module);
    return printed(*module);
  }

  PackageContents contents;
  bool keepsIr = false;
  std::vector<Code> code; // as contents.code
  // Own the constants:
  std::list<Imports> models;
  std::vector<std::shared_ptr<split::SplitProgram>> splitModels;
  std::vector<LevelOneProgram> sources; // of scripts and split models
  std::string ir;
};

CompiledPackage CompiledPackage::compile(std::span<const std::filesystem::path> models,
                                         const PackageSettings &settings) {
  auto impl = std::make_unique<Impl>();
  impl->contents.producer = "headrace " HEADRACE_VERSION;
  impl->keepsIr = settings.keepsIr;
  if (settings.target == hostTarget)
    for (const std::string &processor : settings.processors)
      impl->addTarget(std::string(hostTarget) + ":" + processor, settings);
  else
    impl->addTarget(settings.target, settings);
  if (impl->code.empty() || models.empty())
    throw Error(ErrorKind::InvalidArgument, "expected a model and a CPU to compile it for");
  if (!settings.recipe.empty() && (models.size() > 1 || models.front().extension() == ".dml"))
    throw Error(ErrorKind::InvalidArgument,
                "expected one model for a recipe, which names its "
                "stages, got " +
                    (models.size() > 1 ? std::to_string(models.size()) + " models"
                                       : "the script " + models.front().string()));
  impl->shareWeights();
  for (const std::filesystem::path &path : models) {
    if (path.extension() == ".dml")
      impl->addScript(path, settings);
    else
      impl->addModel(path, settings);
  }
  return CompiledPackage(std::move(impl));
}

CompiledPackage::CompiledPackage(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
CompiledPackage::~CompiledPackage() = default;
CompiledPackage::CompiledPackage(CompiledPackage &&) noexcept = default;

const PackageContents &CompiledPackage::contents() const { return impl->contents; }
std::span<const DeviceImage> CompiledPackage::images(size_t code) const {
  return impl->code.at(code).code.images;
}

void CompiledPackage::writePackage(const std::filesystem::path &path) const {
  std::vector<std::string> objects;
  std::map<size_t, std::string> hostObjects;
  for (const Impl::Code &code : impl->code) {
    bool isOther = Impl::isOther(code);
    if (isOther && !code.code.objects.empty())
      hostObjects[objects.size()] = linkKernels(code.code.objects);
    objects.push_back(isOther ? imagesToText(code.code.images) : linkKernels(code.code.objects));
  }
  std::vector<Bytes> bytes;
  for (const std::string &object : objects)
    bytes.push_back(bytesOf(object));
  std::map<size_t, Bytes> hostBytes;
  for (const auto &[index, object] : hostObjects)
    hostBytes[index] = bytesOf(object);
  headrace::writePackage(path, impl->contents, bytes, hostBytes);
}

void CompiledPackage::requireImages(const std::string &target) {
  if (findTarget(target).engine() != hostEngine)
    throw Error(ErrorKind::Unsupported,
                "target '" + target +
                    "': expected a package, as object files hold no code for devices");
}

void CompiledPackage::writeImage(const std::filesystem::path &path, Image kind,
                                 const std::string &symbol) const {
  for (const Impl::Code &code : impl->code)
    requireImages(code.settings.target);
  PackageParts package = makeParts(impl->contents, {});
  ImageParts parts{symbol, {}, package.manifest, package.weights};
  for (const Impl::Code &code : impl->code)
    parts.code.push_back(code.code.objects);
  std::string image =
      linkImage(parts, kind == Image::SharedObject ? ImageKind::SharedObject : ImageKind::Object);
  if (kind == Image::StaticLibrary)
    image = makeArchive(image, symbol + ".o");
  writeFileAtomically(path, {bytesOf(image)});
}

void CompiledPackage::writeIr(const std::filesystem::path &path) const {
  writeFileAtomically(path, {bytesOf(impl->ir)});
}

} // namespace headrace
