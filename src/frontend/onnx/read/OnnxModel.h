// An ONNX model as plain data: the contents of the file, nothing interpreted yet.
#pragma once

#include "runtime/tensor/DType.h"
#include "runtime/tensor/Tensor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::onnx {

struct Graph;

/// A size: a value, a symbol, or (neither) unknown.
struct Dim {
  std::optional<int64_t> value;
  std::string symbol;
};

/// A value's declared type. Without `dtype` it is not a tensor of a type Headrace has; without
/// `shape` its rank is unknown.
struct ValueInfo {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<Dim>> shape;
};

struct Attribute {
  enum Kind { Float, Int, String, Tensor, Graph, Floats, Ints, Strings };

  std::string name;
  Kind kind = Int;
  float f = 0;
  int64_t i = 0;
  std::string s;
  headrace::Tensor tensor;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::shared_ptr<onnx::Graph> graph;
};

struct Node {
  std::string name, opType;
  std::string domain; // "" is the standard domain, also when the file spells it "ai.onnx"
  std::vector<std::string> inputs, outputs; // "" is an omitted optional one
  std::vector<Attribute> attributes;

  const Attribute *find(std::string_view attribute) const;

  // The attribute's value, or the default where it is absent; an attribute of another kind is an
  // Error.
  int64_t getInt(std::string_view attribute, int64_t otherwise) const;
  float getFloat(std::string_view attribute, float otherwise) const;
  std::string getString(std::string_view attribute, std::string otherwise) const;
  std::vector<int64_t> getInts(std::string_view attribute,
                               std::vector<int64_t> otherwise = {}) const;

  /// For messages: "node 'conv1' (Conv)", or by its output where it has no name.
  std::string describe() const;
};

struct Initializer {
  std::string name;
  headrace::Tensor tensor;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Initializer> initializers;
  std::vector<ValueInfo> inputs, outputs, valueInfo;
};

struct Model {
  int64_t irVersion = 0;
  std::string producer;
  std::map<std::string, int64_t> opsets; // domain to version; "" is the standard domain
  Graph graph;
};

} // namespace headrace::onnx
