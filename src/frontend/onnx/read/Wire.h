// The protobuf encoding of onnx.proto: field numbers, and fields read with their type checked.
#pragma once

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::onnx::wire {

using Reader = protozero::pbf_reader;
using Bytes = protozero::data_view;

// A field number together with how it is encoded, for `switch (reader.tag_and_type())`. A known
// field in an encoding it cannot have is skipped like an unknown one, as protobuf does.
constexpr uint32_t varint(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
}
constexpr uint32_t fixed32(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::fixed32);
}
constexpr uint32_t fixed64(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::fixed64);
}
constexpr uint32_t bytes(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}

namespace model {
enum : uint32_t {
  irVersion = 1,
  producerName = 2,
  domain = 4,
  modelVersion = 5,
  docString = 6,
  graph = 7,
  opsetImport = 8,
  metadata = 14,
  functions = 25
};
}
namespace metadata {
enum : uint32_t { key = 1, value = 2 };
}
namespace opset {
enum : uint32_t { domain = 1, version = 2 };
}
namespace function {
enum : uint32_t {
  name = 1,
  input = 4,
  output = 5,
  node = 7,
  opsetImport = 9,
  domain = 10,
  attributeDefault = 11,
  overload = 13
};
}
namespace graph {
enum : uint32_t {
  node = 1,
  name = 2,
  initializer = 5,
  docString = 10,
  input = 11,
  output = 12,
  valueInfo = 13,
  sparseInitializer = 15
};
}
namespace node {
enum : uint32_t {
  input = 1,
  output = 2,
  name = 3,
  opType = 4,
  attribute = 5,
  domain = 7,
  overload = 8
};
}
namespace attribute {
enum : uint32_t {
  name = 1,
  f = 2,
  i = 3,
  s = 4,
  t = 5,
  g = 6,
  floats = 7,
  ints = 8,
  strings = 9,
  typeProto = 14,
  type = 20,
  refAttrName = 21
};
}
namespace attributeType { // AttributeProto.AttributeType
enum : int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Type = 13
};
}
namespace tensor {
enum : uint32_t {
  dims = 1,
  dataType = 2,
  segment = 3,
  floatData = 4,
  int32Data = 5,
  stringData = 6,
  int64Data = 7,
  name = 8,
  rawData = 9,
  doubleData = 10,
  uint64Data = 11,
  externalData = 13,
  dataLocation = 14
};
}
namespace sparseTensor {
enum : uint32_t { values = 1 };
}
namespace entry {
enum : uint32_t { key = 1, value = 2 };
}
namespace valueInfo {
enum : uint32_t { name = 1, type = 2 };
}
namespace type {
enum : uint32_t { tensor = 1, sequence = 4, map = 5, optional = 9 };
}
namespace elementType { // of a sequence or an optional
enum : uint32_t { type = 1 };
}
namespace mapType {
enum : uint32_t { keyType = 1, valueType = 2 };
}
namespace tensorType {
enum : uint32_t { elemType = 1, shape = 2 };
}
namespace shape {
enum : uint32_t { dim = 1 };
}
namespace dim {
enum : uint32_t { value = 1, param = 2 };
}

inline std::string_view text(Bytes view) { return {view.data(), view.size()}; }

/// A name: UTF-8, so that it can be shown and reach Python.
inline std::string name(Bytes view) {
  std::string_view result = text(view);
  if (!isUtf8(result))
    throw Error(ErrorKind::InvalidFile, "damaged: the name " + inQuotes(result) + " is not UTF-8");
  return std::string(result);
}
inline std::string name(Reader &reader) { return name(reader.get_view()); }

/// Appends a packed run of varints.
template <class T> void appendVarints(std::vector<T> &values, Bytes packed) {
  const char *next = packed.data();
  const char *end = next + packed.size();
  while (next != end)
    values.push_back(static_cast<T>(protozero::decode_varint(&next, end)));
}

} // namespace headrace::onnx::wire
