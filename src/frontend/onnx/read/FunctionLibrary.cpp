#include "frontend/onnx/read/FunctionLibrary.h"

#include "frontend/onnx/read/AttributeReader.h"
#include "frontend/onnx/read/GraphReader.h"

#include <set>
#include <unordered_map>

namespace headrace::onnx {

static constexpr int deepestCalls = 64;
static constexpr size_t maxNodes = 1'000'000;

std::map<std::string, int64_t> readOpsets(const std::vector<wire::Bytes> &encodedOpsets) {
  std::map<std::string, int64_t> result;
  for (wire::Bytes encoded : encodedOpsets) {
    std::string domain;
    int64_t version = 0;
    wire::Reader reader(encoded);
    while (reader.next())
      switch (reader.tag_and_type()) {
      case wire::bytes(wire::opset::domain):
        domain = canonicalDomain(wire::name(reader));
        break;
      case wire::varint(wire::opset::version):
        version = reader.get_int64();
        break;
      default:
        reader.skip();
      }
    if (version <= 0)
      throw Error(ErrorKind::InvalidModel, "operator set " + inQuotes(domain) +
                                               ": expected a version of 1 or more, got " +
                                               std::to_string(version));
    auto [known, isNew] = result.try_emplace(domain, version);
    if (!isNew && known->second != version)
      throw Error(ErrorKind::InvalidModel,
                  "operator set " + inQuotes(domain) + ": expected one version, got " +
                      std::to_string(known->second) + " and " + std::to_string(version));
  }
  return result;
}

static Function readFunction(wire::Bytes message, TensorSource &source) {
  Function result;
  std::vector<wire::Bytes> opsets;
  wire::Reader reader(message);
  while (reader.next())
    switch (reader.tag_and_type()) {
    case wire::bytes(wire::function::input):
      result.inputs.push_back(wire::name(reader));
      break;
    case wire::bytes(wire::function::output):
      result.outputs.push_back(wire::name(reader));
      break;
    case wire::bytes(wire::function::node):
      result.nodes.push_back(readNode(reader.get_view(), source));
      break;
    case wire::bytes(wire::function::opsetImport):
      opsets.push_back(reader.get_view());
      break;
    case wire::bytes(wire::function::attributeDefault):
      result.defaults.push_back(readAttribute(reader.get_view(), source).attribute);
      break;
    default:
      reader.skip();
    }
  result.opsets = readOpsets(opsets);
  return result;
}

FunctionLibrary::FunctionLibrary(const std::vector<wire::Bytes> &functions, TensorSource &source)
    : source(source) {
  for (wire::Bytes function : functions) {
    std::string name, domain, overload;
    wire::Reader reader(function);
    while (reader.next())
      switch (reader.tag_and_type()) {
      case wire::bytes(wire::function::name):
        name = wire::name(reader);
        break;
      case wire::bytes(wire::function::domain):
        domain = canonicalDomain(wire::name(reader));
        break;
      case wire::bytes(wire::function::overload):
        overload = wire::name(reader);
        break;
      default:
        reader.skip();
      }
    // One in the standard domain only spells out what its operator means.
    if (!domain.empty())
      encoded.emplace(Key(std::move(domain), std::move(name), std::move(overload)), function);
  }
}

const Function *FunctionLibrary::find(const Node &node) {
  Key key(node.domain, node.opType, node.overload);
  auto found = encoded.find(key);
  if (found == encoded.end())
    return nullptr;
  auto [function, isNew] = read.try_emplace(key);
  if (isNew)
    try {
      function->second = readFunction(found->second, source);
    } catch (const Error &error) {
      throw Error(error.kind(), "function " + inQuotes(node.opType) + ": " + error.what());
    }
  return &function->second;
}

namespace {

/// One call written out: the function's names replaced by the caller's, or by new ones.
class CallWriter {
public:
  CallWriter(const Node &call, const Function &function, const std::string &prefix)
      : call(call), function(function), prefix(prefix) {
    if (call.inputs.size() > function.inputs.size() ||
        call.outputs.size() > function.outputs.size())
      throw Error(ErrorKind::InvalidModel,
                  call.describe() + ": expected at most " + std::to_string(function.inputs.size()) +
                      " inputs and " + std::to_string(function.outputs.size()) + " outputs, got " +
                      std::to_string(call.inputs.size()) + " and " +
                      std::to_string(call.outputs.size()));
    for (size_t i = 0; i < function.inputs.size(); ++i)
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    for (size_t i = 0; i < call.outputs.size(); ++i)
      if (!call.outputs[i].empty())
        nameOutput(function.outputs[i], call.outputs[i]);
  }

  std::vector<Node> write() {
    std::vector<Node> nodes;
    for (const Node &node : function.nodes) {
      nodes.push_back(written(node, names));
      nodes.back().name = call.name.empty() && node.name.empty() ? "" : call.name + "/" + node.name;
    }
    nodes.insert(nodes.end(), copies.begin(), copies.end());
    return nodes;
  }

private:
  using Names = std::unordered_map<std::string, std::string>;

  /// An output that is an input, or listed twice, takes a node of its own.
  void nameOutput(const std::string &inside, const std::string &outside) {
    if (names.try_emplace(inside, outside).second)
      return;
    Node copy;
    copy.name = call.name;
    copy.opType = "Identity";
    copy.inputs = {names[inside]};
    copy.outputs = {outside};
    auto version = function.opsets.find("");
    copy.opset = version == function.opsets.end() ? 16 : version->second;
    copies.push_back(std::move(copy));
  }

  std::string renamed(const std::string &name, const Names &known) const {
    if (name.empty())
      return name;
    auto found = known.find(name);
    return found == known.end() ? prefix + name : found->second;
  }

  Node written(const Node &node, const Names &known) const {
    Node result = node;
    for (std::string &input : result.inputs)
      input = renamed(input, known);
    for (std::string &output : result.outputs)
      output = renamed(output, known);
    auto version = function.opsets.find(node.domain);
    if (!result.opset && version != function.opsets.end())
      result.opset = version->second;
    result.attributes.clear();
    for (const Attribute &attribute : node.attributes)
      if (std::optional<Attribute> value = resolved(attribute)) {
        // A graph of the call's speaks of the caller's values.
        if (value->graph && attribute.reference.empty())
          value->graph = std::make_shared<Graph>(written(*value->graph, known));
        result.attributes.push_back(std::move(*value));
      }
    return result;
  }

  Graph written(const Graph &graph, Names known) const {
    Graph result = graph;
    auto define = [&](std::string &name) {
      known.erase(name);
      name = renamed(name, known);
    };
    for (ValueInfo &input : result.inputs)
      define(input.name);
    for (Initializer &initializer : result.initializers)
      define(initializer.name);
    for (const Node &node : graph.nodes)
      for (const std::string &output : node.outputs)
        known.erase(output);
    for (Node &node : result.nodes)
      node = written(node, known);
    for (ValueInfo &output : result.outputs)
      output.name = renamed(output.name, known);
    result.valueInfo.clear();
    return result;
  }

  /// An attribute that stands for one of the call's; none if the call and the function give
  /// none.
  std::optional<Attribute> resolved(const Attribute &attribute) const {
    if (attribute.reference.empty())
      return attribute;
    const Attribute *value = call.find(attribute.reference);
    for (const Attribute &otherwise : function.defaults)
      if (!value && otherwise.name == attribute.reference)
        value = &otherwise;
    if (!value)
      return std::nullopt;
    Attribute result = *value;
    result.name = attribute.name;
    return result;
  }

  const Node &call;
  const Function &function;
  const std::string &prefix;
  Names names;
  std::vector<Node> copies;
};

} // namespace

void FunctionLibrary::inlineCall(const Node &call, const Function &function,
                                 std::vector<Node> &into, int depth) {
  if (depth > deepestCalls)
    throw Error(ErrorKind::InvalidModel, call.describe() +
                                             ": expected functions that call each "
                                             "other at most " +
                                             std::to_string(deepestCalls) +
                                             " deep, got them deeper");
  std::string prefix = call.opType + "." + std::to_string(++calls) + "/";
  std::vector<Node> body = CallWriter(call, function, prefix).write();
  written += body.size();
  if (written > maxNodes)
    throw Error(ErrorKind::InvalidModel, call.describe() + ": expected at most " +
                                             std::to_string(maxNodes) +
                                             " nodes from functions, got more");
  inlineNodes(body, depth + 1);
  std::move(body.begin(), body.end(), std::back_inserter(into));
}

void FunctionLibrary::inlineNodes(std::vector<Node> &nodes, int depth) {
  std::vector<Node> result;
  result.reserve(nodes.size());
  for (Node &node : nodes) {
    for (Attribute &attribute : node.attributes) {
      if (!attribute.reference.empty())
        throw Error(ErrorKind::InvalidModel, node.describe() + ": attribute " +
                                                 inQuotes(attribute.name) +
                                                 ": refers to a function's attribute outside of a "
                                                 "function");
      if (attribute.graph)
        inlineNodes(attribute.graph->nodes, depth);
    }
    if (const Function *function = find(node))
      inlineCall(node, *function, result, depth);
    else
      result.push_back(std::move(node));
  }
  nodes = std::move(result);
}

void FunctionLibrary::inlineCalls(Graph &graph) { inlineNodes(graph.nodes, 0); }

} // namespace headrace::onnx
