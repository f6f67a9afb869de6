// The functions that a model defines, and graphs with their calls written out.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "frontend/onnx/read/TensorReader.h"
#include "frontend/onnx/read/Wire.h"

#include <tuple>

namespace headrace::onnx {

class FunctionLibrary {
public:
  /// FunctionProtos. Only those that are called are read.
  FunctionLibrary(const std::vector<wire::Bytes> &encoded, TensorSource &source);

  /// Replaces the calls in a graph, and in the graphs inside, by the functions' nodes. Values get
  /// names of their own, nodes names that begin with the call's. Calls without end, and bodies that
  /// become too many nodes, are Errors.
  void inlineCalls(Graph &graph);

private:
  using Key = std::tuple<std::string, std::string, std::string>; // domain, name, overload

  const Function *find(const Node &node);
  void inlineNodes(std::vector<Node> &nodes, int depth);
  void inlineCall(const Node &call, const Function &function, std::vector<Node> &into, int depth);

  TensorSource &source;
  std::map<Key, wire::Bytes> encoded;
  std::map<Key, Function> read;
  size_t calls = 0, written = 0;
};

/// The versions of the operator sets that a model or function names, by domain.
std::map<std::string, int64_t> readOpsets(const std::vector<wire::Bytes> &encoded);

} // namespace headrace::onnx
