#include "frontend/onnx/read/TypeReader.h"

#include "frontend/onnx/read/EncodedTensor.h"
#include "frontend/onnx/read/TensorReader.h"

namespace headrace::onnx {

/// Sequences of optionals of sequences ...: no operator takes more than two.
static constexpr int deepestType = 8;

static Dim readDim(wire::Bytes message) {
  Dim result;
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::varint(wire::dim::value):
      // Old exporters write -1 for an unknown size.
      if (int64_t size = reader.get_int64(); size >= 0)
        result.value = size;
      break;
    case wire::bytes(wire::dim::param):
      result.symbol = wire::name(reader);
      break;
    default:
      reader.skip();
    }
  return result;
}

static std::vector<Dim> readShape(wire::Bytes message) {
  std::vector<Dim> result;
  wire::Reader reader(message);
  while (reader.next(wire::shape::dim, protozero::pbf_wire_type::length_delimited)) {
    result.push_back(readDim(reader.get_view()));
    if (result.size() > maxDims)
      throw Error(ErrorKind::InvalidModel,
                  "expected at most " + std::to_string(maxDims) + " dimensions, got more");
  }
  return result;
}

static void readTensorType(wire::Bytes message, ValueInfo &value) {
  value.kind = ValueInfo::Tensor;
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::varint(wire::tensorType::elemType): {
      int32_t code = reader.get_int32();
      value.dtype = dtypeOfCode(code);
      value.isString = code == kStringCode;
      break;
    }
    case wire::bytes(wire::tensorType::shape):
      value.shape = readShape(reader.get_view());
      break;
    default:
      reader.skip();
    }
}

static ValueInfo readTypeAt(wire::Bytes message, int depth);

static void readElementType(wire::Bytes message, ValueInfo &value, ValueInfo::Kind kind,
                            int depth) {
  value.kind = kind;
  wire::Reader reader(message);
  while (reader.next(wire::elementType::type, protozero::pbf_wire_type::length_delimited))
    value.element = std::make_shared<const ValueInfo>(readTypeAt(reader.get_view(), depth + 1));
}

static void readMapType(wire::Bytes message, ValueInfo &value, int depth) {
  value.kind = ValueInfo::Map;
  value.keyType = "?";
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::varint(wire::mapType::keyType): {
      int32_t code = reader.get_int32();
      auto dtype = dtypeOfCode(code);
      value.keyType = code == kStringCode ? "string" : dtype ? std::string(nameOf(*dtype)) : "?";
      break;
    }
    case wire::bytes(wire::mapType::valueType):
      value.element = std::make_shared<const ValueInfo>(readTypeAt(reader.get_view(), depth + 1));
      break;
    default:
      reader.skip();
    }
}

static ValueInfo readTypeAt(wire::Bytes message, int depth) {
  if (depth > deepestType)
    throw Error(ErrorKind::InvalidModel, "expected types nested at most " +
                                             std::to_string(deepestType) +
                                             " deep, got them deeper");
  ValueInfo result;
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::bytes(wire::type::tensor):
      readTensorType(reader.get_view(), result);
      break;
    case wire::bytes(wire::type::sequence):
      readElementType(reader.get_view(), result, ValueInfo::Sequence, depth);
      break;
    case wire::bytes(wire::type::map):
      readMapType(reader.get_view(), result, depth);
      break;
    case wire::bytes(wire::type::optional):
      readElementType(reader.get_view(), result, ValueInfo::Optional, depth);
      break;
    default:
      reader.skip();
    }
  return result;
}

ValueInfo readType(wire::Bytes message) { return readTypeAt(message, 0); }

} // namespace headrace::onnx
