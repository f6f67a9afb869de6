#include "frontend/onnx/read/FileNotes.h"

#include "frontend/onnx/read/Wire.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"

namespace headrace::onnx {

static void readGraphNotes(wire::Reader graph, FileNotes &notes) {
  while (graph.next())
    switch (graph.tag_and_type()) {
    case wire::bytes(wire::graph::name):
      notes.graphName = wire::name(graph);
      break;
    case wire::bytes(wire::graph::docString):
      notes.graphDescription = wire::name(graph);
      break;
    default:
      graph.skip();
    }
}

FileNotes readNotes(std::span<const std::byte> file) {
  FileNotes notes;
  wire::Reader reader(reinterpret_cast<const char *>(file.data()), file.size());
  try {
    while (reader.next())
      switch (reader.tag_and_type()) {
      case wire::bytes(wire::model::producerName):
        notes.producer = wire::name(reader);
        break;
      case wire::bytes(wire::model::domain):
        notes.domain = wire::name(reader);
        break;
      case wire::varint(wire::model::modelVersion):
        notes.version = reader.get_int64();
        break;
      case wire::bytes(wire::model::docString):
        notes.description = wire::name(reader);
        break;
      case wire::bytes(wire::model::graph):
        readGraphNotes(reader.get_message(), notes);
        break;
      default:
        reader.skip();
      }
  } catch (const protozero::exception &) {
    throw Error(ErrorKind::InvalidFile, "the file is damaged: a part of the model is malformed");
  }
  return notes;
}

FileNotes readNotes(const std::filesystem::path &path) {
  std::shared_ptr<MappedFile> file = MappedFile::open(path);
  return readNotes(std::span(file->data(), file->size()));
}

} // namespace headrace::onnx
