#include "frontend/onnx/read/EncodedTensor.h"

namespace headrace::onnx {

static std::pair<std::string, std::string> readEntry(wire::Bytes message) {
  std::pair<std::string, std::string> entry;
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::bytes(wire::entry::key):
      entry.first = wire::name(reader);
      break;
    case wire::bytes(wire::entry::value):
      entry.second = wire::name(reader);
      break;
    default:
      reader.skip();
    }
  return entry;
}

/// The bytes of the current field's value, whether one element or a packed run.
static wire::Bytes readRun(wire::Reader &reader) {
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited)
    return reader.get_view();
  const char *begin = reader.data().data();
  reader.skip();
  return {begin, static_cast<size_t>(reader.data().data() - begin)};
}

EncodedTensor readEncodedTensor(wire::Bytes message) {
  using namespace wire;
  EncodedTensor result;
  Reader reader(message);
  auto addRun = [&](uint32_t field) {
    Bytes run = readRun(reader);
    if (run.empty())
      return;
    if (result.typedField != 0 && result.typedField != field)
      result.mixesTypedFields = true;
    result.typedField = field;
    result.typedRuns.push_back(run);
  };
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case varint(tensor::dims):
      result.dims.push_back(reader.get_int64());
      break;
    case bytes(tensor::dims):
      appendVarints(result.dims, reader.get_view());
      break;
    case varint(tensor::dataType):
      result.typeCode = reader.get_int32();
      break;
    case bytes(tensor::segment):
      result.hasSegment = true;
      reader.skip();
      break;
    case fixed32(tensor::floatData):
    case bytes(tensor::floatData):
    case varint(tensor::int32Data):
    case bytes(tensor::int32Data):
    case varint(tensor::int64Data):
    case bytes(tensor::int64Data):
    case fixed64(tensor::doubleData):
    case bytes(tensor::doubleData):
    case varint(tensor::uint64Data):
    case bytes(tensor::uint64Data):
      addRun(reader.tag());
      break;
    case bytes(tensor::stringData):
      result.strings.push_back(reader.get_view());
      break;
    case bytes(tensor::name):
      result.name = name(reader);
      break;
    case bytes(tensor::rawData):
      result.raw = reader.get_view();
      break;
    case bytes(tensor::externalData):
      result.externalEntries.push_back(readEntry(reader.get_view()));
      break;
    case varint(tensor::dataLocation):
      result.isExternal = reader.get_int32() == 1;
      break;
    default:
      reader.skip();
    }
    if (result.dims.size() > maxDims)
      throw Error(ErrorKind::InvalidModel,
                  "a tensor has more than " + std::to_string(maxDims) + " dimensions");
  }
  return result;
}

} // namespace headrace::onnx
