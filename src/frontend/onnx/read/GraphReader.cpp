#include "frontend/onnx/read/GraphReader.h"

#include "frontend/onnx/read/AttributeReader.h"
#include "frontend/onnx/read/TypeReader.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace headrace::onnx {

static constexpr int deepestNesting = 64;

std::string canonicalDomain(std::string domain) { return domain == "ai.onnx" ? "" : domain; }

static ValueInfo readValueInfo(wire::Bytes message) {
  ValueInfo result;
  wire::Bytes type;
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::bytes(wire::valueInfo::name):
      result.name = wire::name(reader);
      break;
    case wire::bytes(wire::valueInfo::type):
      type = reader.get_view();
      break;
    default:
      reader.skip();
    }
  if (result.name.empty())
    throw Error(ErrorKind::InvalidModel, "a graph input, output or value has no name");
  try {
    ValueInfo read = readType(type);
    read.name = result.name;
    return read;
  } catch (const Error &error) {
    throw Error(error.kind(), "value " + inQuotes(result.name) + ": " + error.what());
  }
}

static Initializer readInitializer(wire::Bytes message, TensorSource &source) {
  auto [name, tensor, strings] = readTensor(message, "initializer", source);
  if (name.empty())
    throw Error(ErrorKind::InvalidModel, "expected a name for every initializer, got one without");
  return {std::move(name), std::move(tensor), std::move(strings)};
}

[[noreturn]] static void refuseSparse(wire::Bytes message) {
  std::string found;
  wire::Reader reader(message);
  if (reader.next(wire::sparseTensor::values, protozero::pbf_wire_type::length_delimited)) {
    wire::Reader values(reader.get_view());
    if (values.next(wire::tensor::name, protozero::pbf_wire_type::length_delimited))
      found = wire::name(values);
  }
  throw Error(ErrorKind::Unsupported,
              "initializer " + inQuotes(found) + ": sparse initializers are not supported");
}

static Graph readGraphAt(wire::Bytes message, TensorSource &source, int depth);

static Node readNode(wire::Bytes message, TensorSource &source, int depth) {
  Node result;
  std::vector<wire::Bytes> attributes; // read once the node is known by name
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::bytes(wire::node::input):
      result.inputs.push_back(wire::name(reader));
      break;
    case wire::bytes(wire::node::output):
      result.outputs.push_back(wire::name(reader));
      break;
    case wire::bytes(wire::node::name):
      result.name = wire::name(reader);
      break;
    case wire::bytes(wire::node::opType):
      result.opType = wire::name(reader);
      break;
    case wire::bytes(wire::node::attribute):
      attributes.push_back(reader.get_view());
      break;
    case wire::bytes(wire::node::domain):
      result.domain = canonicalDomain(wire::name(reader));
      break;
    case wire::bytes(wire::node::overload):
      result.overload = wire::name(reader);
      break;
    default:
      reader.skip();
    }
  if (result.opType.empty())
    throw Error(ErrorKind::InvalidModel,
                "node " + inQuotes(result.name) + ": expected an operator type, got none");

  result.attributes.reserve(attributes.size());
  std::vector<std::pair<size_t, wire::Bytes>> subgraphs;
  try {
    std::unordered_set<std::string> names;
    for (wire::Bytes encoded : attributes) {
      auto [attribute, graph] = readAttribute(encoded, source);
      if (!names.insert(attribute.name).second)
        throw Error(ErrorKind::InvalidModel,
                    "attribute " + inQuotes(attribute.name) + " is given twice");
      if (graph)
        subgraphs.emplace_back(result.attributes.size(), *graph);
      result.attributes.push_back(std::move(attribute));
    }
  } catch (const Error &error) {
    throw Error(error.kind(), result.describe() + ": " + error.what());
  } catch (const protozero::exception &) {
    throw Error(ErrorKind::InvalidFile,
                result.describe() + ": the file is damaged: an attribute is malformed");
  }
  // Errors in here name the inner node, which is enough; the outer ones would only pile up.
  for (auto [index, graph] : subgraphs)
    result.attributes[index].graph = std::make_shared<Graph>(readGraphAt(graph, source, depth + 1));
  return result;
}

/// Every value is defined once: an input (which an initializer of that name gives a default), an
/// initializer, or a node's output.
static void checkNames(const Graph &graph) {
  std::unordered_set<std::string_view> inputs, initializers, outputs;
  auto refuse = [](const std::string &name, const std::string &where) {
    throw Error(ErrorKind::InvalidModel,
                where + ": value " + inQuotes(name) + " is already defined in this graph");
  };
  for (const ValueInfo &input : graph.inputs)
    if (!inputs.insert(input.name).second)
      refuse(input.name, "graph input");
  for (const Initializer &initializer : graph.initializers)
    if (!initializers.insert(initializer.name).second)
      refuse(initializer.name, "initializer");
  for (const Node &node : graph.nodes)
    for (const std::string &output : node.outputs)
      if (!output.empty() && (inputs.contains(output) || initializers.contains(output) ||
                              !outputs.insert(output).second))
        refuse(output, node.describe());
}

static Graph readGraphAt(wire::Bytes message, TensorSource &source, int depth) {
  if (depth > deepestNesting)
    throw Error(ErrorKind::InvalidModel, "expected graphs nested at most " +
                                             std::to_string(deepestNesting) +
                                             " deep, got them deeper");
  Graph result;
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::bytes(wire::graph::node):
      result.nodes.push_back(readNode(reader.get_view(), source, depth));
      break;
    case wire::bytes(wire::graph::name):
      result.name = wire::name(reader);
      break;
    case wire::bytes(wire::graph::initializer):
      result.initializers.push_back(readInitializer(reader.get_view(), source));
      break;
    case wire::bytes(wire::graph::input):
      result.inputs.push_back(readValueInfo(reader.get_view()));
      break;
    case wire::bytes(wire::graph::output):
      result.outputs.push_back(readValueInfo(reader.get_view()));
      break;
    case wire::bytes(wire::graph::valueInfo):
      result.valueInfo.push_back(readValueInfo(reader.get_view()));
      break;
    case wire::bytes(wire::graph::sparseInitializer):
      refuseSparse(reader.get_view());
    default:
      reader.skip();
    }
  checkNames(result);
  return result;
}

Node readNode(wire::Bytes message, TensorSource &source) { return readNode(message, source, 0); }

Graph readGraph(wire::Bytes message, TensorSource &source) {
  return readGraphAt(message, source, 0);
}

} // namespace headrace::onnx
