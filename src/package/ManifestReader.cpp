#include "package/GraphJson.h"
#include "package/Manifest.h"
#include "package/ManifestChecksum.h"
#include "package/ProgramJson.h"
#include "runtime/program/Engine.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <set>

namespace headrace {

namespace {

// A manifest is parsed into memory, of which it can take fifty times its size; ten times what a
// large network needs.
constexpr size_t maxManifestBytes = size_t{32} << 20;

/// The constants of a package, checked when they are first asked for.
class Weights {
public:
  Weights(const Json &json, Bytes data, std::shared_ptr<const void> owner)
      : pieces(list(json, "pieces")), data(data), owner(std::move(owner)),
        checked(pieces.size(), false) {
    if (static_cast<uint64_t>(integer(json, "bytes", 0)) != data.size())
      throw JsonFault("expected " + std::to_string(integer(json, "bytes")) +
                      " bytes of weights, got " + std::to_string(data.size()));
  }

  Tensor find(size_t index, DType type, const Shape &shape) {
    if (index >= pieces.size() || !pieces[index].is_array() || pieces[index].size() != 3)
      throw JsonFault("there are no weights " + std::to_string(index));
    const Json &piece = pieces[index];
    auto limit = static_cast<int64_t>(data.size());
    int64_t offset = integerOf(piece[0], 0, limit);
    int64_t bytes = integerOf(piece[1], 0, limit - offset);
    Bytes found = data.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes));
    if (!checked[index] && checksum(found) != text(piece[2]))
      throw JsonFault("the checksum of weights " + std::to_string(index) + " differs");
    checked[index] = true;
    Tensor tensor = borrowed(type, shape, found);
    if (tensor.bytes() != found.size() || offset % static_cast<int64_t>(memoryAlignment) != 0)
      throw JsonFault("weights " + std::to_string(index) + " have another size");
    return tensor;
  }

private:
  Tensor borrowed(DType type, const Shape &shape, Bytes found) const {
    try {
      return Tensor::borrow(type, shape, found.data(), owner);
    } catch (const Error &error) { // more elements than can be counted
      throw JsonFault(error.what());
    }
  }

  const Json &pieces;
  Bytes data;
  std::shared_ptr<const void> owner;
  std::vector<bool> checked;
};

/// Whether a version computes what the program's interface says: the same inputs and outputs, under
/// the symbols that are not fixed.
std::string versionFault(const Program &interface, const PackagedVersion &version) {
  std::vector<std::string> open;
  for (size_t i = 0; i < interface.symbols.size(); ++i)
    if (i < version.sizes.size() && !version.sizes[i])
      open.push_back(interface.symbols[i].name);
  const Program &program = version.program;
  auto isNamed = [](const std::string &name, const Symbol &symbol) { return name == symbol.name; };
  if (version.sizes.size() != interface.symbols.size() ||
      !std::ranges::equal(open, program.symbols, isNamed))
    return "of other sizes";
  auto isLike = [](const TensorSpec &a, const TensorSpec &b) {
    return a.name == b.name && a.dtype == b.dtype && a.dims.size() == b.dims.size();
  };
  if (!std::ranges::equal(interface.inputs, program.inputs, isLike))
    return "of other inputs";
  if (!std::ranges::equal(interface.outputs, program.outputs, isLike))
    return "of other outputs";
  return "";
}

class ManifestReader {
public:
  ManifestReader(const Json &json, const std::string &source) : json(json), source(source) {}

  Manifest read(Bytes data, std::shared_ptr<const void> owner, const ChooseCode &choose) {
    readHead();
    readCode();
    manifest.chosen = choose(manifest.contents.code);
    Weights weights(member(json, "weights"), data, std::move(owner));
    for (const Json &item : list(json, "programs"))
      readEntry(item, weights);
    const PackageContents &contents = manifest.contents;
    if (contents.programs.empty() && contents.scripts.empty() && contents.splitModels.empty())
      throw JsonFault("there is no program in it");
    checkWhole();
    return std::move(manifest);
  }

private:
  // First of all: a newer package may have any shape beyond this.
  void readHead() {
    if (text(json, "format") != "headrace-package")
      throw JsonFault("expected the format 'headrace-package'");
    manifest.contents.producer = text(json, "producer");
    version = integer(json, "version", 1);
    if (version > packageFormat)
      throw Error(ErrorKind::Unsupported,
                  source + ": expected a package of format " + std::to_string(packageFormat) +
                      " or older, got format " + std::to_string(version) + " of " +
                      manifest.contents.producer + ": a newer Headrace is needed");
  }

  // Programs and kernels fit each other as they were written together; no check of either alone
  // tells that. Last, because whatever else is wrong can be said in better words.
  void checkWhole() const {
    if (json.contains(checksumKey) && text(json, checksumKey) != checksumOf(json))
      throw JsonFault("its manifest is not the one that was compiled: the checksum differs");
  }

  static ProcessorNeeds readNeeds(const Json &item) {
    ProcessorNeeds needs{text(item, "architecture"), text(item, "level"), {}};
    for (const Json &feature : list(item, "features"))
      needs.features.push_back(text(feature));
    return needs;
  }

  static CodeFile readFile(const Json &item) {
    return {text(item, "file"), static_cast<uint64_t>(integer(item, "bytes", 0)),
            text(item, "checksum")};
  }

  void readCode() {
    for (const Json &item : list(json, "code")) {
      size_t index = manifest.contents.code.size();
      manifest.contents.code.push_back(readNeeds(item));
      if (item.contains("file"))
        manifest.code.push_back(readFile(item));
      if (!item.contains("host"))
        continue;
      const Json &host = member(item, "host");
      manifest.contents.hostCode[index] = readNeeds(host);
      manifest.hostCode[index] = readFile(host);
    }
    if (!manifest.code.empty() && manifest.code.size() != manifest.contents.code.size())
      throw JsonFault("some of the code has no file");
  }

  void readEntry(const Json &item, Weights &weights) {
    std::string kind = text(item, "kind");
    if (!names.insert(text(item, "name")).second)
      throw JsonFault("there are two programs '" + text(item, "name") + "'");
    if (kind == "dataflow")
      manifest.contents.programs.push_back(readProgram(item, weights));
    else if (kind == "script")
      manifest.contents.scripts.push_back(readScript(item, weights));
    else if (kind == "split")
      manifest.contents.splitModels.push_back(readSplitModel(item, weights));
    else
      throw JsonFault("unknown kind of program '" + kind + "'");
  }

  PackagedScript readScript(const Json &item, Weights &weights) {
    PackagedScript script;
    script.name = text(item, "name");
    script.inputs = readVariables(item, "inputs");
    script.outputs = readVariables(item, "outputs");
    for (const Json &file : list(item, "files"))
      script.files.emplace_back(text(file, "name"), text(file, "text"));
    if (script.files.empty())
      throw JsonFault("script '" + script.name + "' has no text");
    for (const Json &folder : list(item, "script_path"))
      script.scriptPath.push_back(text(folder));
    std::set<std::string> keys;
    for (const Json &segment : list(item, "segments")) {
      if (!keys.insert(text(segment, "key")).second)
        throw JsonFault("script '" + script.name + "' has a segment twice");
      script.segments.push_back(
          {text(segment, "key"), readProgram(member(segment, "program"), weights)});
    }
    return script;
  }

  PackagedSplitModel readSplitModel(const Json &item, Weights &weights) {
    PackagedSplitModel model;
    model.name = text(item, "name");
    model.inputs = readTensors(item, "inputs");
    model.outputs = readTensors(item, "outputs");
    requireOwnNames(model.inputs, "inputs");
    auto find = [&](size_t index, DType type, const Shape &shape) {
      return weights.find(index, type, shape);
    };
    model.graphs = graphsFromJson(member(item, "graphs"), model.name, find);
    if (model.graphs.front()->inputs.size() != model.inputs.size() ||
        model.graphs.front()->outputs.size() != model.outputs.size())
      throw JsonFault("model '" + model.name + "' has a graph of other inputs or outputs");
    for (const Json &entry : list(item, "regions")) {
      PackagedRegion region;
      region.graph = static_cast<size_t>(
          integer(entry, "graph", 0, static_cast<int64_t>(model.graphs.size()) - 1));
      region.region = std::make_shared<adaptive::Region>(
          regionFromJson(entry, *model.graphs[region.graph], region.done, find));
      region.program = readProgram(member(entry, "program"), weights);
      const Program &interface = region.program.interface;
      if (interface.inputs.size() != region.region->inputs.size() ||
          interface.outputs.size() != region.region->outputs.size())
        throw JsonFault("program '" + interface.name + "' has other inputs or outputs");
      model.regions.push_back(std::move(region));
    }
    return model;
  }

  static std::vector<PackagedTensor> readTensors(const Json &item, const char *name) {
    std::vector<PackagedTensor> tensors;
    for (const Json &entry : list(item, name)) {
      std::optional<DType> type = parseDType(text(entry, "type"));
      if (!type)
        throw JsonFault("unknown type '" + text(entry, "type") + "'");
      PackagedTensor tensor{text(entry, "name"), *type, {}, {}};
      for (const Json &size : list(entry, "dims"))
        tensor.dims.push_back(integerOf(size, -1));
      for (const Json &size : list(entry, "dim_names"))
        tensor.dimNames.push_back(text(size));
      if (tensor.dims.size() != tensor.dimNames.size())
        throw JsonFault("'" + tensor.name + "' has names of other dimensions");
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  static std::vector<ScriptVariable> readVariables(const Json &item, const char *name) {
    std::vector<ScriptVariable> variables;
    for (const Json &entry : list(item, name)) {
      std::string kind = text(entry, "kind");
      if (kind != "matrix" && kind != "scalar")
        throw JsonFault("unknown kind of variable '" + kind + "'");
      variables.push_back({text(entry, "name"), kind == "matrix"});
    }
    requireOwnNames(variables, name);
    return variables;
  }

  /// Inputs and sizes are given by name.
  template <class Named>
  static void requireOwnNames(const std::vector<Named> &all, const char *what) {
    std::set<std::string> known;
    for (const Named &named : all)
      if (!known.insert(named.name).second)
        throw JsonFault("there are two " + std::string(what) + " '" + named.name + "'");
  }

  PackagedProgram readProgram(const Json &item, Weights &weights) {
    PackagedProgram program{interfaceFromJson(item), {}};
    if (std::string fault = interfaceFault(program.interface); !fault.empty())
      throw JsonFault("program '" + program.interface.name + "': " + fault);
    requireOwnNames(program.interface.symbols, "symbols");
    requireOwnNames(program.interface.inputs, "inputs");
    for (const Json &entry : list(item, "versions")) {
      PackagedVersion version;
      version.code = static_cast<size_t>(
          integer(entry, "code", 0, static_cast<int64_t>(manifest.contents.code.size()) - 1));
      if (version.code != manifest.chosen)
        continue;
      for (const Json &size : list(entry, "sizes"))
        version.sizes.push_back(size.is_null() ? std::nullopt : std::optional(integerOf(size, 0)));
      version.program = programFromJson(
          member(entry, "program"),
          [&](size_t index, DType type, const Shape &shape) {
            return weights.find(index, type, shape);
          },
          defaultEngine());
      version.program.origin = source;
      version.notes = notesFromJson(member(entry, "notes"), version.program);
      if (std::string fault = versionFault(program.interface, version); !fault.empty())
        throw JsonFault("program '" + program.interface.name + "' has a version " + fault);
      program.versions.push_back(std::move(version));
    }
    return program;
  }

  /// The first format had no engines: all steps were those of the code.
  std::string defaultEngine() const {
    return version == 1 ? engineOf(manifest.contents.code[manifest.chosen]) : hostEngine;
  }

  const Json &json;
  const std::string &source;
  int64_t version = 0;
  Manifest manifest;
  std::set<std::string> names;
};

} // namespace

Manifest readManifest(Bytes text, Bytes weights, std::shared_ptr<const void> owner,
                      const std::string &source, const ChooseCode &choose) {
  auto fail = [&](const std::string &what) {
    throw Error(ErrorKind::InvalidFile, source + ": the package is damaged: " + what);
  };
  if (text.size() > maxManifestBytes)
    fail("expected a manifest of at most " + std::to_string(maxManifestBytes) + " bytes, got " +
         std::to_string(text.size()));
  try {
    Json json =
        parseJson({reinterpret_cast<const char *>(text.data()), text.size()}, "its manifest");
    return ManifestReader(json, source).read(weights, std::move(owner), choose);
  } catch (const JsonFault &fault) {
    fail(fault.what());
  }
  return {};
}

} // namespace headrace
