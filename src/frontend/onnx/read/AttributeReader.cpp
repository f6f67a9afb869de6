#include "frontend/onnx/read/AttributeReader.h"

#include "frontend/onnx/read/TypeReader.h"

#include <cstring>

namespace headrace::onnx {

namespace code = wire::attributeType;

namespace {

struct EncodedAttribute {
  Attribute value;
  int32_t typeCode = code::Undefined;
  int32_t impliedType =
      code::Undefined; // by the field that is set; the earliest writers gave no type
  std::optional<wire::Bytes> tensor, graph, type;
};

} // namespace

static void appendFloats(std::vector<float> &values, wire::Bytes packed) {
  if (packed.size() % sizeof(float) != 0)
    throw protozero::invalid_length_exception{};
  size_t begin = values.size();
  values.resize(begin + packed.size() / sizeof(float));
  if (!packed.empty())
    std::memcpy(values.data() + begin, packed.data(), packed.size());
}

static EncodedAttribute readEncoded(wire::Bytes message) {
  using namespace wire;
  EncodedAttribute result;
  Attribute &value = result.value;
  Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case bytes(attribute::name):
      value.name = name(reader);
      break;
    case varint(attribute::type):
      result.typeCode = reader.get_int32();
      break;
    case bytes(attribute::refAttrName):
      value.reference = name(reader);
      break;
    case fixed32(attribute::f):
      value.f = reader.get_float();
      result.impliedType = code::Float;
      break;
    case varint(attribute::i):
      value.i = reader.get_int64();
      result.impliedType = code::Int;
      break;
    case bytes(attribute::s):
      value.s = text(reader.get_view());
      result.impliedType = code::String;
      break;
    case bytes(attribute::t):
      result.tensor = reader.get_view();
      result.impliedType = code::Tensor;
      break;
    case bytes(attribute::g):
      result.graph = reader.get_view();
      result.impliedType = code::Graph;
      break;
    case bytes(attribute::typeProto):
      result.type = reader.get_view();
      result.impliedType = code::Type;
      break;
    case fixed32(attribute::floats):
      value.floats.push_back(reader.get_float());
      result.impliedType = code::Floats;
      break;
    case bytes(attribute::floats):
      appendFloats(value.floats, reader.get_view());
      result.impliedType = code::Floats;
      break;
    case varint(attribute::ints):
      value.ints.push_back(reader.get_int64());
      result.impliedType = code::Ints;
      break;
    case bytes(attribute::ints):
      appendVarints(value.ints, reader.get_view());
      result.impliedType = code::Ints;
      break;
    case bytes(attribute::strings):
      value.strings.emplace_back(text(reader.get_view()));
      result.impliedType = code::Strings;
      break;
    default:
      reader.skip();
    }
  return result;
}

static Attribute::Kind kindOf(int32_t typeCode) {
  switch (typeCode) {
  case code::Float:
    return Attribute::Float;
  case code::Int:
    return Attribute::Int;
  case code::String:
    return Attribute::String;
  case code::Tensor:
    return Attribute::Tensor;
  case code::Graph:
    return Attribute::Graph;
  case code::Floats:
    return Attribute::Floats;
  case code::Ints:
    return Attribute::Ints;
  case code::Strings:
    return Attribute::Strings;
  case code::Type:
    return Attribute::Type;
  case code::Undefined:
    throw Error(ErrorKind::InvalidModel, "expected a value, got none");
  default: // lists of tensors and graphs, sparse tensors: for operators Headrace lacks
    throw Error(ErrorKind::Unsupported,
                "values of type code " + std::to_string(typeCode) + " are not supported");
  }
}

static ReadAttribute decode(EncodedAttribute encoded, TensorSource &source) {
  ReadAttribute result{std::move(encoded.value), std::nullopt};
  Attribute &attribute = result.attribute;
  if (!attribute.reference.empty())
    return result;
  attribute.kind =
      kindOf(encoded.typeCode != code::Undefined ? encoded.typeCode : encoded.impliedType);
  if (attribute.kind == Attribute::Tensor) {
    if (!encoded.tensor)
      throw Error(ErrorKind::InvalidModel, "expected a tensor, got none");
    NamedTensor read = readTensor(*encoded.tensor, "tensor", source);
    attribute.tensor = std::move(read.tensor);
    attribute.stringTensor = std::move(read.strings);
  } else if (attribute.kind == Attribute::Graph) {
    if (!encoded.graph)
      throw Error(ErrorKind::InvalidModel, "expected a graph, got none");
    result.graph = encoded.graph;
  } else if (attribute.kind == Attribute::Type) {
    if (!encoded.type)
      throw Error(ErrorKind::InvalidModel, "expected a type, got none");
    attribute.type = std::make_shared<const ValueInfo>(readType(*encoded.type));
  }
  return result;
}

ReadAttribute readAttribute(wire::Bytes message, TensorSource &source) {
  EncodedAttribute encoded = readEncoded(message);
  std::string name = encoded.value.name;
  if (name.empty())
    throw Error(ErrorKind::InvalidModel, "expected an attribute name, got none");
  try {
    return decode(std::move(encoded), source);
  } catch (const Error &error) {
    throw Error(error.kind(), "attribute " + inQuotes(name) + ": " + error.what());
  }
}

} // namespace headrace::onnx
