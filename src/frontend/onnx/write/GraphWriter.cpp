#include "frontend/onnx/write/GraphWriter.h"

#include "frontend/onnx/read/TensorReader.h"
#include "frontend/onnx/read/Wire.h"
#include "runtime/system/Error.h"

namespace headrace::onnx {

using Message = protozero::pbf_writer;

/// A message that may be empty, and then means something: protozero's own writer leaves it out.
template <class Fill> static void addMessage(Message &message, uint32_t field, Fill fill) {
  std::string bytes;
  Message inner(bytes);
  fill(inner);
  message.add_message(field, bytes);
}

static void writeDim(Message &message, const Dim &dim) {
  if (dim.value)
    message.add_int64(wire::dim::value, *dim.value);
  else if (!dim.symbol.empty())
    message.add_string(wire::dim::param, dim.symbol);
}

static void writeTensorType(Message &message, const ValueInfo &value) {
  if (value.dtype || value.isString)
    message.add_int32(wire::tensorType::elemType,
                      value.isString ? kStringCode : codeOf(*value.dtype));
  if (value.shape)
    addMessage(message, wire::tensorType::shape, [&](Message &shape) {
      for (const Dim &dim : *value.shape)
        addMessage(shape, wire::shape::dim, [&](Message &written) { writeDim(written, dim); });
    });
}

static void writeType(Message &message, const ValueInfo &value);

static void addElement(Message &message, uint32_t field, const ValueInfo &value) {
  if (value.element)
    addMessage(message, field, [&](Message &element) { writeType(element, *value.element); });
}

/// The fields of a TypeProto.
static void writeType(Message &message, const ValueInfo &value) {
  switch (value.kind) {
  case ValueInfo::Unknown:
    break;
  case ValueInfo::Tensor:
    addMessage(message, wire::type::tensor,
               [&](Message &tensor) { writeTensorType(tensor, value); });
    break;
  case ValueInfo::Map:
    addMessage(message, wire::type::map, [&](Message &map) {
      std::optional<DType> key = parseDType(value.keyType);
      map.add_int32(wire::mapType::keyType, key ? codeOf(*key) : kStringCode);
      addElement(map, wire::mapType::valueType, value);
    });
    break;
  case ValueInfo::Sequence:
    addMessage(message, wire::type::sequence,
               [&](Message &sequence) { addElement(sequence, wire::elementType::type, value); });
    break;
  case ValueInfo::Optional:
    addMessage(message, wire::type::optional,
               [&](Message &optional) { addElement(optional, wire::elementType::type, value); });
    break;
  }
}

static void writeValueInfo(Message message, const ValueInfo &value) {
  message.add_string(wire::valueInfo::name, value.name);
  addMessage(message, wire::valueInfo::type, [&](Message &type) { writeType(type, value); });
}

static int32_t codeOf(Attribute::Kind kind) {
  switch (kind) {
  case Attribute::Float:
    return wire::attributeType::Float;
  case Attribute::Int:
    return wire::attributeType::Int;
  case Attribute::String:
    return wire::attributeType::String;
  case Attribute::Tensor:
    return wire::attributeType::Tensor;
  case Attribute::Graph:
    return wire::attributeType::Graph;
  case Attribute::Floats:
    return wire::attributeType::Floats;
  case Attribute::Ints:
    return wire::attributeType::Ints;
  case Attribute::Strings:
    return wire::attributeType::Strings;
  case Attribute::Type:
    return wire::attributeType::Type;
  }
  throw InternalError("unknown attribute kind");
}

static void writeAttribute(Message message, const Attribute &attribute,
                           const TensorPlaces &places) {
  message.add_string(wire::attribute::name, attribute.name);
  message.add_enum(wire::attribute::type, codeOf(attribute.kind));
  switch (attribute.kind) {
  case Attribute::Float:
    message.add_float(wire::attribute::f, attribute.f);
    break;
  case Attribute::Int:
    message.add_int64(wire::attribute::i, attribute.i);
    break;
  case Attribute::String:
    message.add_bytes(wire::attribute::s, attribute.s);
    break;
  case Attribute::Tensor:
    if (attribute.stringTensor)
      writeStrings(Message(message, wire::attribute::t), "", *attribute.stringTensor);
    else
      writeTensor(Message(message, wire::attribute::t), "", attribute.tensor,
                  places.of(attribute.tensor));
    break;
  case Attribute::Graph:
    writeGraph(Message(message, wire::attribute::g), *attribute.graph, places);
    break;
  case Attribute::Floats:
    message.add_packed_float(wire::attribute::floats, attribute.floats.begin(),
                             attribute.floats.end());
    break;
  case Attribute::Ints:
    message.add_packed_int64(wire::attribute::ints, attribute.ints.begin(), attribute.ints.end());
    break;
  case Attribute::Strings:
    for (const std::string &text : attribute.strings)
      message.add_bytes(wire::attribute::strings, text);
    break;
  case Attribute::Type:
    addMessage(message, wire::attribute::typeProto,
               [&](Message &type) { writeType(type, *attribute.type); });
    break;
  }
}

static void writeNode(Message message, const Node &node, const TensorPlaces &places) {
  for (const std::string &input : node.inputs)
    message.add_string(wire::node::input, input);
  for (const std::string &output : node.outputs)
    message.add_string(wire::node::output, output);
  if (!node.name.empty())
    message.add_string(wire::node::name, node.name);
  message.add_string(wire::node::opType, node.opType);
  for (const Attribute &attribute : node.attributes)
    writeAttribute(Message(message, wire::node::attribute), attribute, places);
  if (!node.domain.empty())
    message.add_string(wire::node::domain, node.domain);
}

void writeGraph(Message message, const Graph &graph, const TensorPlaces &places) {
  for (const Node &node : graph.nodes)
    writeNode(Message(message, wire::graph::node), node, places);
  // A graph without a name is not valid.
  message.add_string(wire::graph::name, graph.name.empty() ? "main" : graph.name);
  for (const Initializer &initializer : graph.initializers) {
    Message written(message, wire::graph::initializer);
    if (initializer.strings)
      writeStrings(std::move(written), initializer.name, *initializer.strings);
    else
      writeTensor(std::move(written), initializer.name, initializer.tensor,
                  places.of(initializer.tensor));
  }
  for (const ValueInfo &input : graph.inputs)
    writeValueInfo(Message(message, wire::graph::input), input);
  for (const ValueInfo &output : graph.outputs)
    writeValueInfo(Message(message, wire::graph::output), output);
  for (const ValueInfo &value : graph.valueInfo)
    writeValueInfo(Message(message, wire::graph::valueInfo), value);
}

} // namespace headrace::onnx
