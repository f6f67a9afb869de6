#include "package/GraphJson.h"
#include "package/Manifest.h"
#include "package/ManifestChecksum.h"
#include "package/ProgramJson.h"
#include "runtime/program/Engine.h"
#include "runtime/system/AlignedMemory.h"

#include <algorithm>
#include <array>
#include <map>

namespace headrace {

namespace {

/// Lays constants out one after the other, equal ones once.
class Weights {
public:
  size_t add(const Tensor &tensor) {
    Bytes data(static_cast<const std::byte *>(tensor.data()), tensor.bytes());
    std::string sum = checksum(data);
    auto [first, last] = known.equal_range(sum);
    for (auto it = first; it != last; ++it)
      if (std::ranges::equal(contents[it->second], data))
        return it->second;
    size_t index = contents.size();
    known.emplace(sum, index);
    contents.push_back(data);
    directory.push_back({offset, data.size(), sum});
    emit(data);
    static constexpr std::array<std::byte, memoryAlignment> zeros{};
    emit(Bytes(zeros).first(static_cast<size_t>(alignUp(static_cast<int64_t>(offset))) - offset));
    return index;
  }

  Json json() const { return {{"file", weightsFile}, {"bytes", offset}, {"pieces", directory}}; }

  std::vector<Bytes> pieces;

private:
  void emit(Bytes piece) {
    if (piece.empty())
      return;
    pieces.push_back(piece);
    offset += piece.size();
  }

  std::vector<Bytes> contents;
  std::multimap<std::string, size_t> known; // by checksum
  Json directory = Json::array();
  size_t offset = 0;
};

Json codeToJson(const ProcessorNeeds &needs, const CodeFile *file) {
  Json json = {
      {"architecture", needs.architecture}, {"level", needs.level}, {"features", needs.features}};
  if (file) {
    json["file"] = file->name;
    json["bytes"] = file->bytes;
    json["checksum"] = file->checksum;
  }
  return json;
}

Json dataflowToJson(const PackagedProgram &program, Weights &weights) {
  Json entry = interfaceToJson(program.interface);
  entry["kind"] = "dataflow";
  Json &versions = entry["versions"] = Json::array();
  for (const PackagedVersion &version : program.versions) {
    Json sizes = Json::array();
    for (const std::optional<int64_t> &size : version.sizes)
      sizes.push_back(size ? Json(*size) : Json());
    versions.push_back(
        {{"code", version.code},
         {"sizes", sizes},
         {"program", programToJson(version.program,
                                   [&](const Tensor &tensor) { return weights.add(tensor); })},
         {"notes", notesToJson(version.notes)}});
  }
  return entry;
}

Json variablesToJson(const std::vector<ScriptVariable> &variables) {
  Json list = Json::array();
  for (const ScriptVariable &variable : variables)
    list.push_back({{"name", variable.name}, {"kind", variable.isMatrix ? "matrix" : "scalar"}});
  return list;
}

Json scriptToJson(const PackagedScript &script, Weights &weights) {
  Json files = Json::array(), segments = Json::array();
  for (const auto &[name, text] : script.files)
    files.push_back({{"name", name}, {"text", text}});
  for (const PackagedSegment &segment : script.segments)
    segments.push_back(
        {{"key", segment.key}, {"program", dataflowToJson(segment.program, weights)}});
  return {{"kind", "script"},
          {"name", script.name},
          {"inputs", variablesToJson(script.inputs)},
          {"outputs", variablesToJson(script.outputs)},
          {"files", std::move(files)},
          {"script_path", script.scriptPath},
          {"segments", std::move(segments)}};
}

Json tensorsToJson(const std::vector<PackagedTensor> &tensors) {
  Json list = Json::array();
  for (const PackagedTensor &tensor : tensors)
    list.push_back({{"name", tensor.name},
                    {"type", nameOf(tensor.dtype)},
                    {"dims", tensor.dims},
                    {"dim_names", tensor.dimNames}});
  return list;
}

Json splitModelToJson(const PackagedSplitModel &model, Weights &weights) {
  auto keep = [&](const Tensor &tensor) { return weights.add(tensor); };
  Json regions = Json::array();
  for (const PackagedRegion &region : model.regions) {
    Json &entry = regions.emplace_back(regionToJson(*region.region, region.done, keep));
    entry["graph"] = region.graph;
    entry["program"] = dataflowToJson(region.program, weights);
  }
  return {{"kind", "split"},
          {"name", model.name},
          {"inputs", tensorsToJson(model.inputs)},
          {"outputs", tensorsToJson(model.outputs)},
          {"graphs", graphsToJson(model.graphs, keep)},
          {"regions", std::move(regions)}};
}

} // namespace

PackageParts makeParts(const PackageContents &contents, std::span<const CodeFile> code,
                       const std::map<size_t, CodeFile> &hostCode) {
  bool isForHost = std::ranges::all_of(
      contents.code, [](const ProcessorNeeds &needs) { return engineOf(needs) == hostEngine; });
  Json json = {{"format", "headrace-package"},
               {"version", !contents.splitModels.empty() ? packageFormat
                           : isForHost                   ? 1
                                                         : 2},
               {"producer", contents.producer}};
  Json &codeList = json["code"] = Json::array();
  for (size_t i = 0; i < contents.code.size(); ++i)
    codeList.push_back(codeToJson(contents.code[i], code.empty() ? nullptr : &code[i]));
  for (const auto &[i, needs] : contents.hostCode)
    codeList[i]["host"] = codeToJson(needs, &hostCode.at(i));
  Weights weights;
  Json programs = Json::array();
  for (const PackagedProgram &program : contents.programs)
    programs.push_back(dataflowToJson(program, weights));
  for (const PackagedScript &script : contents.scripts)
    programs.push_back(scriptToJson(script, weights));
  for (const PackagedSplitModel &model : contents.splitModels)
    programs.push_back(splitModelToJson(model, weights));
  json["weights"] = weights.json();
  json["programs"] = std::move(programs);
  json[checksumKey] = checksumOf(json);
  return {manifestText(json), std::move(weights.pieces)};
}

} // namespace headrace
