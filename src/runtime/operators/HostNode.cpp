#include "runtime/operators/HostNode.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <array>

namespace headrace::operators {

/// In the order of the variant's types.
static const char *typeName(size_t index) {
  constexpr std::array names = {
      "int", "float", "string", "list of ints", "list of floats", "list of strings", "tensor"};
  static_assert(names.size() == std::variant_size_v<Attribute::Value>);
  return names[index];
}

const Attribute *HostNode::find(std::string_view attribute) const {
  for (const Attribute &candidate : attributes)
    if (candidate.name == attribute)
      return &candidate;
  return nullptr;
}

template <class T> const T *HostNode::get(std::string_view name) const {
  const Attribute *found = find(name);
  if (found && !found->as<T>())
    throw Error(ErrorKind::InvalidModel, describe() + ": attribute " + inQuotes(name) +
                                             ": expected a value of type " +
                                             typeName(Attribute::Value(T()).index()) + ", got " +
                                             typeName(found->value.index()));
  return found ? found->as<T>() : nullptr;
}

template const RuntimeValue *HostNode::get(std::string_view) const;
template const std::vector<float> *HostNode::get(std::string_view) const;

int64_t HostNode::getInt(std::string_view attribute, int64_t otherwise) const {
  const auto *found = get<int64_t>(attribute);
  return found ? *found : otherwise;
}

float HostNode::getFloat(std::string_view attribute, float otherwise) const {
  const auto *found = get<float>(attribute);
  return found ? *found : otherwise;
}

std::string HostNode::getString(std::string_view attribute, std::string otherwise) const {
  const auto *found = get<std::string>(attribute);
  return found ? *found : otherwise;
}

std::vector<int64_t> HostNode::getInts(std::string_view attribute) const {
  const auto *found = get<std::vector<int64_t>>(attribute);
  return found ? *found : std::vector<int64_t>();
}

std::vector<std::string> HostNode::getStrings(std::string_view attribute) const {
  const auto *found = get<std::vector<std::string>>(attribute);
  return found ? *found : std::vector<std::string>();
}

std::string HostNode::describe() const {
  if (!name.empty())
    return "node " + inQuotes(name) + " (" + escaped(opType) + ")";
  for (const std::string &output : outputs)
    if (!output.empty())
      return escaped(opType) + " node of output " + inQuotes(output);
  return escaped(opType) + " node";
}

} // namespace headrace::operators
