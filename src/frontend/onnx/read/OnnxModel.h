// An ONNX model as plain data: the contents of the file, nothing interpreted yet.
#pragma once

#include "runtime/tensor/DType.h"
#include "runtime/tensor/Tensor.h"
#include "runtime/value/RuntimeValue.h"

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

/// A value's declared type. A tensor without `dtype` is of strings, or of a type that Headrace does
/// not have; without `shape` its rank is unknown.
struct ValueInfo {
  enum Kind { Unknown, Tensor, Sequence, Optional, Map };

  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<Dim>> shape;
  Kind kind = Unknown;
  bool isString = false;
  std::shared_ptr<const ValueInfo> element = {}; // of all but tensors, if it is declared
  std::string keyType = {};                      // of a map: "string" or an element type

  /// "f32", "string", "sequence(f32)", "optional(sequence(i64))", "map(string, f32)"; "?" if
  /// nothing is declared.
  std::string typeText() const;
};

struct Attribute {
  enum Kind { Float, Int, String, Tensor, Graph, Floats, Ints, Strings, Type };

  std::string name;
  Kind kind = Int;
  float f = 0;
  int64_t i = 0;
  std::string s;
  headrace::Tensor tensor;
  std::shared_ptr<const StringTensor> stringTensor; // instead of `tensor` if it is of strings
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::shared_ptr<onnx::Graph> graph;
  std::shared_ptr<const ValueInfo> type;
  /// In a function's body: the attribute of its call that this one stands for.
  std::string reference;
};

struct Node {
  std::string name, opType;
  std::string domain; // "" is the standard domain, also when the file spells it "ai.onnx"
  std::vector<std::string> inputs, outputs; // "" is an omitted optional one
  std::vector<Attribute> attributes;
  /// The version of its operator set if that is not the model's: in the body of a function.
  std::optional<int64_t> opset = {};
  std::string overload = {}; // which function of that name

  const Attribute *find(std::string_view attribute) const;

  // The attribute's value, or the default if it is absent; an attribute of another kind is an
  // Error.
  int64_t getInt(std::string_view attribute, int64_t otherwise) const;
  float getFloat(std::string_view attribute, float otherwise) const;
  std::string getString(std::string_view attribute, std::string otherwise) const;
  std::vector<int64_t> getInts(std::string_view attribute,
                               std::vector<int64_t> otherwise = {}) const;
  std::vector<float> getFloats(std::string_view attribute) const;
  std::vector<std::string> getStrings(std::string_view attribute) const;

  /// For messages: "node 'conv1' (Conv)", or by its output if it has no name.
  std::string describe() const;
};

struct Initializer {
  std::string name;
  headrace::Tensor tensor;
  std::shared_ptr<const StringTensor> strings = {}; // instead of `tensor` if it is of strings
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Initializer> initializers;
  std::vector<ValueInfo> inputs, outputs, valueInfo;
};

/// An operator that the model defines; calls of it are replaced by its nodes (inlineFunctions).
struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> defaults; // of its attributes
  std::vector<Node> nodes;
  std::map<std::string, int64_t> opsets;
};

struct Model {
  int64_t irVersion = 0;
  std::string producer;
  std::map<std::string, int64_t> opsets;       // domain to version; "" is the standard domain
  std::map<std::string, std::string> metadata; // what the writer noted, by its own keys
  Graph graph;
};

} // namespace headrace::onnx
