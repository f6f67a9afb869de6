#include "frontend/onnx/read/OnnxModel.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

namespace headrace::onnx {

static const char *kindName(Attribute::Kind kind) {
  switch (kind) {
  case Attribute::Float:
    return "float";
  case Attribute::Int:
    return "int";
  case Attribute::String:
    return "string";
  case Attribute::Tensor:
    return "tensor";
  case Attribute::Graph:
    return "graph";
  case Attribute::Floats:
    return "list of floats";
  case Attribute::Ints:
    return "list of ints";
  case Attribute::Strings:
    return "list of strings";
  case Attribute::Type:
    return "type";
  }
  throw InternalError("unknown attribute kind");
}

std::string ValueInfo::typeText() const {
  std::string inner = element ? element->typeText() : "?";
  switch (kind) {
  case Sequence:
    return "sequence(" + inner + ")";
  case Optional:
    return "optional(" + inner + ")";
  case Map:
    return "map(" + keyType + ", " + inner + ")";
  default:
    return isString ? "string" : dtype ? std::string(nameOf(*dtype)) : "?";
  }
}

const Attribute *Node::find(std::string_view attribute) const {
  for (const Attribute &candidate : attributes)
    if (candidate.name == attribute)
      return &candidate;
  return nullptr;
}

static const Attribute *findOfKind(const Node &node, std::string_view name, Attribute::Kind kind) {
  const Attribute *attribute = node.find(name);
  if (attribute && attribute->kind != kind)
    throw Error(ErrorKind::InvalidModel, node.describe() + ": attribute " + inQuotes(name) +
                                             ": expected a value of type " + kindName(kind) +
                                             ", got " + kindName(attribute->kind));
  return attribute;
}

int64_t Node::getInt(std::string_view attribute, int64_t otherwise) const {
  const Attribute *found = findOfKind(*this, attribute, Attribute::Int);
  return found ? found->i : otherwise;
}

float Node::getFloat(std::string_view attribute, float otherwise) const {
  const Attribute *found = findOfKind(*this, attribute, Attribute::Float);
  return found ? found->f : otherwise;
}

std::string Node::getString(std::string_view attribute, std::string otherwise) const {
  const Attribute *found = findOfKind(*this, attribute, Attribute::String);
  return found ? found->s : otherwise;
}

std::vector<int64_t> Node::getInts(std::string_view attribute,
                                   std::vector<int64_t> otherwise) const {
  const Attribute *found = findOfKind(*this, attribute, Attribute::Ints);
  return found ? found->ints : otherwise;
}

std::vector<float> Node::getFloats(std::string_view attribute) const {
  const Attribute *found = findOfKind(*this, attribute, Attribute::Floats);
  return found ? found->floats : std::vector<float>();
}

std::vector<std::string> Node::getStrings(std::string_view attribute) const {
  const Attribute *found = findOfKind(*this, attribute, Attribute::Strings);
  return found ? found->strings : std::vector<std::string>();
}

std::string Node::describe() const {
  if (!name.empty())
    return "node " + inQuotes(name) + " (" + escaped(opType) + ")";
  for (const std::string &output : outputs)
    if (!output.empty())
      return escaped(opType) + " node of output " + inQuotes(output);
  return escaped(opType) + " node";
}

} // namespace headrace::onnx
