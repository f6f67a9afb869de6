#include "package/Package.h"

#include "package/Checksum.h"
#include "package/ChooseCode.h"
#include "package/Code.h"
#include "package/Manifest.h"
#include "runtime/program/BindInputs.h"
#include "runtime/program/Engine.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/Text.h"

#include "adaptive/Iterations.h"
#include <algorithm>
#include <atomic>
#include <mutex>

namespace headrace {

namespace {

/// Fixed sizes match; open ones are within the version's guards.
bool serves(const Sizes &sizes, const Program &program, std::span<const int64_t> values) {
  size_t open = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i]) {
      if (*sizes[i] != values[i])
        return false;
      continue;
    }
    const Symbol &symbol = program.symbols[open++];
    if (values[i] < symbol.min || values[i] > symbol.max)
      return false;
  }
  return true;
}

/// " --size n=2": the options that compile a package for sizes that this one is guarded against.
std::string sizesOutside(const Program &program, std::span<const int64_t> symbols) {
  std::string options;
  for (size_t i = 0; i < symbols.size(); ++i)
    if (const Symbol &symbol = program.symbols[i];
        symbols[i] < symbol.min || symbols[i] > symbol.max)
      options += " --size " + symbol.name + "=" + std::to_string(symbols[i]);
  return options;
}

int64_t fixedCount(const Sizes &sizes) {
  return static_cast<int64_t>(sizes.size()) - std::count(sizes.begin(), sizes.end(), std::nullopt);
}

} // namespace

/// A program for certain sizes. Code that its engine has to read is prepared when it is first asked
/// for.
class PackageProgram::Version {
public:
  Version(PackagedVersion version, std::shared_ptr<const Code> code, std::string source)
      : sizes(std::move(version.sizes)), program(std::move(version.program)),
        notes(std::move(version.notes)), code(std::move(code)), source(std::move(source)) {
    if (this->code->isLoaded())
      executable();
  }

  std::shared_ptr<const Executable> executable() const {
    if (isPrepared.load(std::memory_order_acquire))
      return prepared;
    std::lock_guard lock(mutex);
    if (isPrepared)
      return prepared;
    try {
      prepared = std::make_shared<const Executable>(program, code->codeFor(program, source));
    } catch (const Error &error) { // a library or engine that this machine lacks
      std::string what = error.what();
      throw Error(error.kind(), what.starts_with(source) ? what : source + ": " + what);
    }
    isPrepared.store(true, std::memory_order_release);
    return prepared;
  }

  std::shared_ptr<const Executable>
  changed(const std::function<Program(const Program &)> &change) const {
    return std::make_shared<const Executable>(change(program), code->codeFor(program, source));
  }

  const Sizes sizes;
  const Program program;
  const ProgramNotes notes;

private:
  std::shared_ptr<const Code> code;
  std::string source;
  mutable LongLock mutex{"a program of " + source};
  mutable std::shared_ptr<const Executable> prepared; // written once
  mutable std::atomic<bool> isPrepared{false};
};

std::vector<int64_t> PackageProgram::bind(std::span<const Tensor> inputs) const {
  std::vector<int64_t> symbols;
  if (!bindInputs(declared, inputs, symbols))
    throw Error(ErrorKind::ShapeMismatch, describeGuardFailure(declared, symbols) +
                                              "; a package for it is compiled with" +
                                              sizesOutside(declared, symbols));
  return symbols;
}

std::shared_ptr<const Executable> PackageProgram::find(std::span<const Tensor> inputs) const {
  return versionFor(bind(inputs)).executable();
}

std::shared_ptr<const Executable>
PackageProgram::findChanged(std::span<const Tensor> inputs,
                            const std::function<Program(const Program &)> &change) const {
  return versionFor(bind(inputs)).changed(change);
}

const PackageProgram::Version &PackageProgram::versionFor(std::span<const int64_t> symbols) const {
  for (const auto &version : versions)
    if (serves(version->sizes, version->program, symbols))
      return *version;
  std::string asked;
  for (size_t i = 0; i < symbols.size(); ++i)
    asked += (i ? ", " : "") + declared.symbols[i].name + " = " + std::to_string(symbols[i]);
  throw Error(ErrorKind::Unsupported, source + ": program '" + declared.name +
                                          "' is not compiled for " + asked + "; it serves " +
                                          servedSizes());
}

// "n = 1; n of 2 or more"
std::string PackageProgram::servedSizes() const {
  std::string text;
  for (const auto &version : versions) {
    std::string one;
    size_t open = 0;
    for (size_t i = 0; i < version->sizes.size(); ++i) {
      one += (one.empty() ? "" : ", ") + declared.symbols[i].name;
      if (version->sizes[i]) {
        one += " = " + std::to_string(*version->sizes[i]);
        continue;
      }
      const Symbol &symbol = version->program.symbols[open++];
      one += " of " + std::to_string(symbol.min) +
             (symbol.max == INT64_MAX ? " or more" : " to " + std::to_string(symbol.max));
    }
    text += (text.empty() ? "" : "; ") + one;
  }
  return text.empty() ? "nothing" : text;
}

Explanation PackageProgram::explain(const Sizes &sizes) const {
  std::vector<int64_t> values;
  for (size_t i = 0; i < declared.symbols.size(); ++i) {
    int64_t open = std::max<int64_t>(2, declared.symbols[i].min);
    values.push_back(i < sizes.size() && sizes[i] ? *sizes[i] : open);
  }
  const Version &version = versionFor(values);
  return explainProgram(version.program, version.notes);
}

std::shared_ptr<const Package> Package::open(const std::filesystem::path &path) {
  std::string source = path.filename().string();
  std::shared_ptr<MappedFile> file = MappedFile::open(path);
  ZipReader zip({file->data(), file->size()}, source);
  // Copies: what is checked is what is used, whatever becomes of the file.
  std::vector<std::byte> text = zip.checkedFile(manifestFile);
  Manifest manifest = readManifest(
      text, zip.file(weightsFile), file, source,
      [&](const std::vector<ProcessorNeeds> &code) { return chooseCode(code, source); });
  if (manifest.code.empty())
    throw Error(ErrorKind::InvalidFile, source + ": the package is damaged: its code has no file");
  auto checked = [&](const CodeFile &entry) {
    Bytes stored = zip.file(entry.name);
    std::vector<std::byte> object(stored.begin(), stored.end());
    if (object.size() != entry.bytes || checksum(object) != entry.checksum)
      throw Error(ErrorKind::InvalidFile, source + ": the package is damaged: the checksum of '" +
                                              entry.name + "' differs");
    return object;
  };
  std::vector<std::byte> object = checked(manifest.code[manifest.chosen]);
  // Only now is any of its code mapped as such.
  if (engineOf(manifest.contents.code[manifest.chosen]) == hostEngine)
    return assemble(std::move(manifest), Code::load(object, source), source);
  std::shared_ptr<const Code> host;
  if (auto beside = manifest.hostCode.find(manifest.chosen); beside != manifest.hostCode.end()) {
    // Throws if the CPU cannot run it.
    (void)chooseCode({manifest.contents.hostCode.at(manifest.chosen)}, source);
    host = Code::load(checked(beside->second), source);
  }
  return assemble(std::move(manifest), Code::loadImages(object, std::move(host), source), source);
}

std::shared_ptr<const Package> Package::open(const PackageImage &image) {
  std::string source = "linked package";
  if (image.abi != codeAbi)
    throw Error(ErrorKind::Unsupported, source + ": expected interface " + std::to_string(codeAbi) +
                                            ", got " + std::to_string(image.abi));
  auto bytes = [](const void *data, uint64_t size) {
    return Bytes(static_cast<const std::byte *>(data), static_cast<size_t>(size));
  };
  Manifest manifest = readManifest(
      bytes(image.manifest, image.manifestBytes), bytes(image.weights, image.weightsBytes), nullptr,
      source, [&](const std::vector<ProcessorNeeds> &code) { return chooseCode(code, source); });
  if (manifest.chosen >= image.codeCount)
    throw Error(ErrorKind::InvalidFile, source + ": the package is damaged: code is missing");
  std::shared_ptr<const Code> code = Code::linked(*image.code[manifest.chosen], source);
  return assemble(std::move(manifest), code, source);
}

std::shared_ptr<const Package> Package::assemble(Manifest manifest,
                                                 const std::shared_ptr<const Code> &code,
                                                 const std::string &source) {
  std::shared_ptr<Package> package(new Package);
  package->source = source;
  package->chosenLevel = manifest.contents.code[manifest.chosen].level;
  std::string engine = engineOf(manifest.contents.code[manifest.chosen]);
  auto assembled = [&](PackagedProgram &entry) {
    auto program = std::make_shared<PackageProgram>();
    program->source = source;
    program->declared = std::move(entry.interface);
    program->engineName = engine;
    for (PackagedVersion &version : entry.versions)
      program->versions.push_back(
          std::make_shared<PackageProgram::Version>(std::move(version), code, source));
    std::stable_sort(
        program->versions.begin(), program->versions.end(),
        [](const auto &a, const auto &b) { return fixedCount(a->sizes) > fixedCount(b->sizes); });
    return program;
  };
  for (PackagedProgram &entry : manifest.contents.programs)
    package->all.push_back(assembled(entry));
  for (PackagedScript &entry : manifest.contents.scripts) {
    auto script = std::make_shared<PackageScript>();
    for (PackagedSegment &segment : entry.segments)
      script->segments.emplace(std::move(segment.key), assembled(segment.program));
    entry.segments.clear();
    script->contents = std::move(entry);
    package->allScripts.push_back(std::move(script));
  }
  for (PackagedSplitModel &entry : manifest.contents.splitModels) {
    auto model = std::make_shared<PackageSplitModel>();
    model->engineName = engine;
    for (PackagedRegion &region : entry.regions) {
      region.region->code = std::make_shared<PackagedCode>(assembled(region.program));
      entry.graphs[region.graph]->addRegion(region.done, region.region);
    }
    model->contents = std::move(entry);
    package->allSplitModels.push_back(std::move(model));
  }
  return package;
}

bool PackagedCode::accepts(std::span<const Tensor> inputs) const {
  try {
    return program->find(inputs) != nullptr;
  } catch (const Error &) {
    return false; // the package has no version for these sizes
  }
}

void PackageSplitModel::check(std::span<const Tensor> inputs) const {
  const std::string what = "program '" + name() + "': ";
  if (inputs.size() != contents.inputs.size())
    throw Error(ErrorKind::MissingInput, what + "expected " +
                                             std::to_string(contents.inputs.size()) +
                                             " inputs, got " + std::to_string(inputs.size()));
  std::map<std::string, int64_t> named;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PackagedTensor &declared = contents.inputs[i];
    const Shape &shape = inputs[i].shape();
    std::string prefix = what + "input " + inQuotes(declared.name) + ": expected ";
    if (inputs[i].dtype() != declared.dtype)
      throw Error(ErrorKind::TypeMismatch, prefix + std::string(nameOf(declared.dtype)) + ", got " +
                                               std::string(nameOf(inputs[i].dtype())));
    if (shape.size() != declared.dims.size())
      throw Error(ErrorKind::ShapeMismatch, prefix + "rank " +
                                                std::to_string(declared.dims.size()) + ", got " +
                                                shapeString(shape));
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t size = declared.dims[d] >= 0 ? declared.dims[d] : shape[d];
      if (const std::string &dim = declared.dimNames[d]; !dim.empty() && declared.dims[d] < 0)
        size = named.try_emplace(dim, shape[d]).first->second;
      if (size != shape[d])
        throw Error(ErrorKind::ShapeMismatch, prefix + "size " + std::to_string(size) +
                                                  " in dimension " + std::to_string(d) + ", got " +
                                                  shapeString(shape));
    }
  }
}

std::vector<Tensor> PackageSplitModel::run(std::span<const Tensor> inputs) const {
  check(inputs);
  adaptive::Executor executor;
  adaptive::GraphCall call{executor, adaptive::maxIterations()};
  std::vector<RuntimeValue> results = contents.graphs.front()->run(
      std::vector<RuntimeValue>(inputs.begin(), inputs.end()), nullptr, call);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const PackagedTensor &declared = contents.outputs[i];
    const Tensor *tensor = results[i].tensor();
    if (!tensor || tensor->dtype() != declared.dtype)
      throw Error(ErrorKind::TypeMismatch, name() + ": output " + inQuotes(declared.name) +
                                               ": expected " + std::string(nameOf(declared.dtype)) +
                                               ", got " + describe(results[i]));
    outputs.push_back(*tensor);
  }
  return outputs;
}

std::vector<Explanation> PackageSplitModel::explain() const {
  std::vector<Explanation> reports;
  for (const PackagedRegion &region : contents.regions)
    reports.push_back(region.region->code->explain());
  return reports;
}

bool Package::isNamedLikeOne(const std::filesystem::path &path) {
  return path.extension() == ".hrpkg";
}

std::shared_ptr<const PackageProgram> PackageScript::find(const std::string &key) const {
  auto found = segments.find(key);
  return found == segments.end() ? nullptr : found->second;
}

std::shared_ptr<const PackageScript> Package::script(const std::string &name) const {
  bool isOnly = allScripts.size() == 1 && all.empty() && allSplitModels.empty();
  for (const auto &script : allScripts)
    if (script->name() == name || (name.empty() && isOnly))
      return script;
  return nullptr;
}

std::shared_ptr<const PackageSplitModel> Package::splitModel(const std::string &name) const {
  bool isOnly = allSplitModels.size() == 1 && all.empty() && allScripts.empty();
  for (const auto &model : allSplitModels)
    if (model->name() == name || (name.empty() && isOnly))
      return model;
  return nullptr;
}

std::shared_ptr<const PackageProgram> Package::program(const std::string &name) const {
  if (name.empty() && all.size() == 1 && allScripts.empty() && allSplitModels.empty())
    return all[0];
  std::string names;
  for (const auto &program : all) {
    if (program->interface().name == name)
      return program;
    names += (names.empty() ? "'" : ", '") + program->interface().name + "'";
  }
  for (const auto &model : allSplitModels)
    names += (names.empty() ? "'" : ", '") + model->name() + "'";
  if (script(name))
    throw Error(ErrorKind::Unsupported,
                source +
                    ": a script can be run, and explained while it runs (run -explain runtime)");
  throw Error(ErrorKind::InvalidArgument,
              source + ": expected the name of a program (" + names + "), got '" + name + "'");
}

} // namespace headrace
