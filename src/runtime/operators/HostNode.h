// A node of a graph as the host's operators see it: plain data that front ends write and packages
// store.
#pragma once

#include "runtime/value/RuntimeValue.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headrace::operators {

struct Attribute {
  using Value = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                             std::vector<std::string>, RuntimeValue>; // RuntimeValue: a tensor

  std::string name;
  Value value;

  /// Null if the value has another type.
  template <class T> const T *as() const { return std::get_if<T>(&value); }
};

/// An output that the graph of an attribute declares.
struct BodyOutput {
  std::string name;
  std::optional<DType> dtype; // none for strings, or if no type is declared
  bool isString = false;
  Shape shape; // 0 for a dimension that is unknown
};

struct HostNode {
  std::string name, opType;
  std::string domain;                       // "" is the standard domain of ONNX
  int64_t version = 0;                      // of the operator set
  std::vector<std::string> inputs, outputs; // for messages; "" is an omitted optional one
  std::vector<Attribute> attributes;
  /// The outputs of each graph inside of the node, by attribute.
  std::map<std::string, std::vector<BodyOutput>> bodies;

  /// Null if the node does not have the attribute.
  const Attribute *find(std::string_view attribute) const;
  /// Null if the node does not have the attribute. Throws Error if its type is not T.
  template <class T> const T *get(std::string_view attribute) const;

  // The attribute's value, or the default if the node does not have the attribute.
  int64_t getInt(std::string_view attribute, int64_t otherwise) const;
  float getFloat(std::string_view attribute, float otherwise) const;
  std::string getString(std::string_view attribute, std::string otherwise) const;
  std::vector<int64_t> getInts(std::string_view attribute) const;
  std::vector<std::string> getStrings(std::string_view attribute) const;

  /// For messages: "node 'conv1' (Conv)", or by its output if the node has no name.
  std::string describe() const;
};

} // namespace headrace::operators
