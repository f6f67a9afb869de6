#include "frontend/onnx/write/OnnxWriter.h"

#include "frontend/onnx/read/Wire.h"
#include "frontend/onnx/write/GraphWriter.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

namespace headrace::onnx {

/// The most bytes of one message that protobuf's readers accept.
static constexpr uint64_t kMaxMessage = (uint64_t{1} << 31) - 1;
/// Smaller tensors stay in the model's file, where tools that infer shapes look for them.
static constexpr uint64_t kMinOutside = 1024;

static void checkNodes(const Model &model, const Graph &graph) {
  for (const Node &node : graph.nodes) {
    auto found = model.opsets.find(node.domain);
    if (node.opset && (found == model.opsets.end() || found->second != *node.opset))
      throw Error(ErrorKind::Unsupported,
                  node.describe() + ": comes from a function with version " +
                      std::to_string(*node.opset) +
                      " of the operator set, which cannot be combined with the model's in "
                      "one file");
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        checkNodes(model, *attribute.graph);
  }
}

static std::string encoded(const Model &model, const TensorPlaces &places) {
  checkNodes(model, model.graph);
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_int64(wire::model::irVersion, model.irVersion);
  if (!model.producer.empty())
    message.add_string(wire::model::producerName, model.producer);
  writeGraph(protozero::pbf_writer(message, wire::model::graph), model.graph, places);
  for (const auto &[domain, version] : model.opsets) {
    protozero::pbf_writer opset(message, wire::model::opsetImport);
    opset.add_string(wire::opset::domain, domain);
    opset.add_int64(wire::opset::version, version);
  }
  for (const auto &[key, value] : model.metadata) {
    protozero::pbf_writer entry(message, wire::model::metadata);
    entry.add_string(wire::metadata::key, key);
    entry.add_string(wire::metadata::value, value);
  }
  if (bytes.size() > kMaxMessage)
    throw Error(ErrorKind::Unsupported, "the model takes " + std::to_string(bytes.size()) +
                                            " bytes without its large tensors; a file can have " +
                                            std::to_string(kMaxMessage));
  return bytes;
}

static uint64_t tensorBytes(const Graph &graph) {
  uint64_t sum = 0;
  for (const Initializer &initializer : graph.initializers)
    sum += initializer.tensor.bytes();
  for (const Node &node : graph.nodes)
    for (const Attribute &attribute : node.attributes)
      sum += attribute.graph ? tensorBytes(*attribute.graph) : attribute.tensor.bytes();
  return sum;
}

std::string encodedModel(const Model &model) { return encoded(model, {}); }

void writeModel(const Model &model, const std::filesystem::path &path,
                const WriteSettings &settings) {
  // Both files are complete before either is put in its place.
  std::optional<DataFile> data;
  TensorPlaces places;
  if (tensorBytes(model.graph) > settings.maxBytesInside) {
    data.emplace(path.string() + ".data");
    places = {&*data, kMinOutside};
  }
  AtomicFile file(path);
  file.write(encoded(model, places));
  if (data)
    data->putInPlace();
  file.putInPlace();
}

} // namespace headrace::onnx
