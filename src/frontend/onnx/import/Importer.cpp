#include "frontend/onnx/import/Importer.h"

#include "frontend/common/ProgramWriter.h"
#include "frontend/onnx/import/IntegerGraph.h"
#include "frontend/onnx/import/NodeOrder.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/Subgraph.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

#include <set>

using namespace mlir;

namespace headrace::onnx {

static bool isStandard(const Node &node) { return node.domain.empty(); }

/// Whether a node, here or inside of one, takes its version from the model.
static bool usesStandardOperators(const Graph &graph) {
  return llvm::any_of(graph.nodes, [](const Node &node) {
    return (isStandard(node) && !node.opset) ||
           llvm::any_of(node.attributes, [](const onnx::Attribute &attribute) {
             return attribute.graph && usesStandardOperators(*attribute.graph);
           });
  });
}

int64_t checkedOpset(const Model &model) {
  auto found = model.opsets.find("");
  // A model of other operators need not name it.
  if (found == model.opsets.end()) {
    if (usesStandardOperators(model.graph))
      throw Error(ErrorKind::InvalidModel, "the version of the standard operator set is missing");
    return kNewestOpset;
  }
  int64_t opset = found->second;
  if (opset < kOldestOpset || opset > kNewestOpset)
    throw Error(ErrorKind::Unsupported, llvm::formatv("expected operator set {0} to {1}, got {2}",
                                                      kOldestOpset, kNewestOpset, opset));
  return opset;
}

/// All operators that cannot be imported in one message, each with the first node that uses it.
static void checkOperators(const Graph &graph, int64_t opset) {
  std::set<std::string> kinds;
  std::string message;
  for (const Node &node : graph.nodes) {
    if (operatorOf(node, opset))
      continue;
    std::string kind = isStandard(node) ? node.opType : node.domain + "." + node.opType;
    if (!kinds.insert(kind).second)
      continue;
    if (!message.empty())
      message += "; ";
    std::string version =
        isStandard(node) ? llvm::formatv(" (opset {0})", opset).str() : std::string();
    std::string name = node.name.empty() && !node.outputs.empty()
                           ? "node of output " + inQuotes(node.outputs.front())
                           : "node " + inQuotes(node.name);
    message.append(name).append(": operator ").append(inQuotes(kind));
    message.append(version).append(" is not supported");
  }
  if (!kinds.empty())
    throw Error(ErrorKind::Unsupported, message);
}

namespace {
class GraphImporter {
public:
  GraphImporter(const Model &model, MLIRContext &context, const SizeRanges &sizes)
      : rewritten(integerGraph(model.graph)), graph(rewritten ? *rewritten : model.graph),
        context(context), writer(context, model.graph.name, sizes), values(writer.builder),
        state{writer.builder, writer.symbols, values, writer.diagnostics, checkedOpset(model)} {}

  ImportedModel run();

private:
  void addInitializers();
  void addInputs();
  RankedTensorType inputType(const ValueInfo &input);
  void addOutputs();
  bool readsOpenSizes(const Node &node) const;

  std::optional<Graph> rewritten;
  const Graph &graph;
  MLIRContext &context;
  ProgramWriter writer;
  Values values;
  ImportState state;
};
} // namespace

ImportedModel GraphImporter::run() {
  checkOperators(graph, state.opset);
  std::vector<const Node *> nodes = orderedNodes(graph);
  addInitializers();
  addInputs();
  for (const Node *node : nodes) {
    pollInterruption();
    if (std::optional<Unimported> refused = tryImportNode(*node, state)) {
      ErrorKind kind = refused->error.kind();
      bool needsValue = !refused->needed.empty() && kind == ErrorKind::Unsupported;
      bool needsSizes = kind == ErrorKind::ShapeMismatch && readsOpenSizes(*node);
      if (!needsValue && !needsSizes)
        throw refused->error;
      return {nullptr, std::move(refused)};
    }
  }
  addOutputs();
  return {writer.finish(), std::nullopt};
}

/// Whether sizes that the node does not take might be others that it takes, when they are known.
bool GraphImporter::readsOpenSizes(const Node &node) const {
  return llvm::any_of(node.inputs, [&](const std::string &input) {
    const ImportedValue *value = input.empty() ? nullptr : values.find(input);
    return value && (!value->type.hasStaticShape() || (value->known && !value->known->constants()));
  });
}

void GraphImporter::addInitializers() {
  for (const Initializer &initializer : graph.initializers)
    values.define(initializer.name, initializer.tensor);
}

bool isNamed(const Dim &dim) {
  constexpr StringRef kUnknown[] = {"", "?", "*", "-1", "None", "unknown"};
  return !llvm::is_contained(kUnknown, dim.symbol);
}

/// Inputs that are initializers too are constants.
void GraphImporter::addInputs() {
  for (const ValueInfo &input : graph.inputs)
    for (const Dim &dim : input.shape.value_or(std::vector<Dim>()))
      if (!dim.value && isNamed(dim) && !values.find(input.name))
        writer.symbols.get(dim.symbol);
  for (const ValueInfo &input : graph.inputs) {
    if (values.find(input.name))
      continue;
    values.define(input.name, writer.addInput(input.name, inputType(input)));
  }
}

RankedTensorType GraphImporter::inputType(const ValueInfo &input) {
  std::string what = "input " + inQuotes(input.name);
  if (!input.dtype)
    throw Error(ErrorKind::Unsupported, what + ": expected a numeric tensor or booleans");
  if (!input.shape)
    throw Error(ErrorKind::Unsupported, what + ": expected a known rank, got none");
  SymbolicShape dims;
  Shape known;
  for (auto [i, dim] : llvm::enumerate(*input.shape)) {
    std::string symbol = dim.symbol;
    if (!dim.value && !isNamed(dim))
      for (symbol = llvm::formatv("{0}_dim{1}", input.name, i); writer.symbols.contains(symbol);)
        symbol += "_";
    dims.push_back(dim.value ? constantDim(*dim.value, &context) : writer.symbols.get(symbol));
    known.push_back(dim.value.value_or(1));
  }
  // Throws if a size is negative or their product overflows.
  if (headrace::elementCount(known) > int64_t(1) << 40)
    throw Error(ErrorKind::Unsupported, what + ": " + shapeString(known) + " is too large");
  return tensorType(dims, toElementType(*input.dtype, &context));
}

void GraphImporter::addOutputs() {
  for (const ValueInfo &output : graph.outputs) {
    const ImportedValue *value = values.find(output.name);
    std::string what = "output " + inQuotes(output.name);
    if (!value)
      throw Error(ErrorKind::InvalidModel, what + " is computed by no node that is supported");
    Type found = value->type.getElementType();
    if (output.dtype && toElementType(*output.dtype, &context) != found)
      throw Error(ErrorKind::TypeMismatch, what + ": expected " +
                                               std::string(nameOf(*output.dtype)) +
                                               " as declared, got " + typeText(found));
    writer.addOutput(output.name, values.tensor(output.name));
  }
}

ImportedModel importModel(const Model &model, MLIRContext &context, const std::string &fileName,
                          const SizeRanges &sizes) {
  auto named = [&](const Error &error) {
    return fileName.empty() ? error : Error(error.kind(), fileName + ": " + error.what());
  };
  try {
    ImportedModel imported = GraphImporter(model, context, sizes).run();
    if (imported.dependence)
      imported.dependence->error = named(imported.dependence->error);
    return imported;
  } catch (const Error &error) {
    throw named(error);
  }
}

} // namespace headrace::onnx
