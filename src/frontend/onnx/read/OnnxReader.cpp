#include "frontend/onnx/read/OnnxReader.h"

#include "frontend/onnx/read/FunctionLibrary.h"
#include "frontend/onnx/read/GraphReader.h"
#include "frontend/onnx/read/StringLabels.h"
#include "frontend/onnx/read/Wire.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"

namespace headrace::onnx {

namespace fs = std::filesystem;

namespace {

/// The fields of ModelProto, their contents still encoded.
struct EncodedModel {
  int64_t irVersion = 0;
  wire::Bytes producer;
  std::vector<wire::Bytes> graphs, opsets, metadata, functions;
};

} // namespace

/// Whether a field of a ModelProto can be encoded this way. Fields of a later ONNX pass.
static bool isPlausible(const wire::Reader &reader) {
  switch (reader.tag()) {
  case wire::model::irVersion:
  case wire::model::modelVersion:
    return reader.wire_type() == protozero::pbf_wire_type::varint;
  default:
    return reader.tag() > wire::model::opsetImport ||
           reader.wire_type() == protozero::pbf_wire_type::length_delimited;
  }
}

/// Splits the file into ModelProto's fields. A cut file always fails here, since the field that
/// holds the cut is longer than what is left; and so does a file that is something else.
static EncodedModel readFields(wire::Bytes file) {
  static const Error notOnnx(ErrorKind::InvalidFile,
                             "expected an ONNX model, got data in another format");
  EncodedModel result;
  wire::Reader reader(file);
  try {
    while (reader.next()) {
      if (!isPlausible(reader))
        throw notOnnx;
      switch (reader.tag_and_type()) {
      case wire::varint(wire::model::irVersion):
        result.irVersion = reader.get_int64();
        break;
      case wire::bytes(wire::model::producerName):
        result.producer = reader.get_view();
        break;
      case wire::bytes(wire::model::graph):
        result.graphs.push_back(reader.get_view());
        break;
      case wire::bytes(wire::model::opsetImport):
        result.opsets.push_back(reader.get_view());
        break;
      case wire::bytes(wire::model::metadata):
        result.metadata.push_back(reader.get_view());
        break;
      case wire::bytes(wire::model::functions):
        result.functions.push_back(reader.get_view());
        break;
      default:
        reader.skip();
      }
    }
  } catch (const protozero::end_of_buffer_exception &) {
    // Every writer puts the version first.
    if (result.irVersion <= 0)
      throw notOnnx;
    throw Error(ErrorKind::InvalidFile, "the file is truncated: it ends at byte " +
                                            std::to_string(file.size()) + ", inside a field");
  } catch (const protozero::exception &) {
    throw notOnnx;
  }
  if (result.irVersion <= 0)
    throw notOnnx;
  if (result.graphs.empty())
    throw Error(ErrorKind::InvalidFile, "the model has no graph; the file may be truncated");
  if (result.graphs.size() > 1)
    throw Error(ErrorKind::InvalidFile, "expected one graph, got several");
  return result;
}

static std::map<std::string, int64_t> readOpsets(const EncodedModel &model) {
  std::map<std::string, int64_t> result = readOpsets(model.opsets);
  // The format had no operator sets before version 3.
  if (result.empty() && model.irVersion < 3)
    result[""] = 1;
  if (result.empty())
    throw Error(ErrorKind::InvalidModel,
                "the model names no operator set; the file may be truncated");
  return result;
}

static std::map<std::string, std::string> readMetadata(const std::vector<wire::Bytes> &entries) {
  std::map<std::string, std::string> result;
  for (wire::Bytes entry : entries) {
    std::string key, value;
    for (wire::Reader reader(entry); reader.next();)
      switch (reader.tag_and_type()) {
      case wire::bytes(wire::metadata::key):
        key = wire::name(reader);
        break;
      case wire::bytes(wire::metadata::value):
        value = wire::name(reader);
        break;
      default:
        reader.skip();
      }
    result[key] = value;
  }
  return result;
}

static Model readParts(const EncodedModel &encoded, TensorSource &source) {
  Model result;
  result.irVersion = encoded.irVersion;
  result.producer = wire::name(encoded.producer);
  result.opsets = readOpsets(encoded);
  result.metadata = readMetadata(encoded.metadata);
  result.graph = readGraph(encoded.graphs.front(), source);
  FunctionLibrary(encoded.functions, source).inlineCalls(result.graph);
  separateStringLabels(result.graph.nodes);
  if (result.graph.outputs.empty())
    throw Error(ErrorKind::InvalidModel, "expected a graph with outputs, got none");
  return result;
}

static Model readModelBytes(std::string_view file, TensorSource &source) {
  if (file.empty())
    throw Error(ErrorKind::InvalidFile, "expected an ONNX model, got an empty file");
  if (file.starts_with("version https://git-lfs"))
    throw Error(ErrorKind::InvalidFile, "expected an ONNX model, got a Git LFS pointer to it; "
                                        "fetch the file with 'git lfs pull'");
  if (file.starts_with("PK\x03\x04"))
    throw Error(ErrorKind::InvalidFile,
                "expected an ONNX model, got a zip archive; the name of a package ends in .hrpkg");
  EncodedModel encoded = readFields({file.data(), file.size()});
  try {
    return readParts(encoded, source);
  } catch (const protozero::exception &) {
    throw Error(ErrorKind::InvalidFile, "the file is damaged: a part of the model is malformed");
  }
}

Model readModel(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                const fs::path &folder, const std::string &nameForErrors) {
  TensorSource source{std::move(owner), ExternalData(folder)};
  try {
    return readModelBytes({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, source);
  } catch (const Error &error) {
    throw Error(error.kind(), escaped(nameForErrors) + ": " + error.what());
  }
}

Model readModel(const fs::path &path) {
  auto fail = [&](ErrorKind kind, const std::string &what) {
    throw Error(kind, escaped(path.string()) + ": " + what);
  };
  if (path.empty())
    throw Error(ErrorKind::Io, "expected the path of a model, got an empty one");
  std::error_code failure;
  fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status))
    fail(ErrorKind::Io, "cannot open the file: " + failure.message());
  if (!fs::is_regular_file(status))
    fail(ErrorKind::Io, fs::is_directory(status) ? "expected an ONNX file, got a directory"
                                                 : "expected an ONNX file, got a special file");
  if (fs::is_empty(path, failure))
    fail(ErrorKind::InvalidFile, "expected an ONNX model, got an empty file");
  std::shared_ptr<MappedFile> file = MappedFile::open(path);
  fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  // Tensors leave a copy of the file, where most are not aligned anyway, and the copy goes.
  bool isMapped = MappedFile::holding(file->data()) != nullptr;
  return readModel({file->data(), file->size()}, isMapped ? file : nullptr, folder, path.string());
}

} // namespace headrace::onnx
