#include "frontend/onnx/import/NodeContext.h"

#include "frontend/onnx/read/TensorReader.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

/// The user's name of a node, by which reports speak of what became of it.
static Location locationOf(const Node &node, MLIRContext *context) {
  std::string name = node.name;
  if (name.empty())
    name = node.opType + "_" + (node.outputs.empty() ? "" : node.outputs.front());
  return NameLoc::get(StringAttr::get(context, name));
}

NodeContext::NodeContext(const Node &node, ImportState &state)
    : OperatorBuilder(state.builder, state.symbols, state.diagnostics,
                      locationOf(node, state.builder.getContext()), node.describe()),
      node(node), opset(node.opset.value_or(state.opset)), state(state) {}

std::string NodeContext::nameOfInput(size_t i) const {
  return llvm::formatv("input {0} ({1})", i, inQuotes(node.inputs[i]));
}

const ImportedValue &NodeContext::value(size_t i) const {
  if (!has(i))
    fail(ErrorKind::MissingInput, "input {0} is missing", i);
  const ImportedValue *found = state.values.find(node.inputs[i]);
  if (!found)
    fail(ErrorKind::Unsupported, "{0}: an optional output that is not supported", nameOfInput(i));
  return *found;
}

static const char *expectation(Accepts accepts) {
  switch (accepts) {
  case Accepts::Any:
    return "any type";
  case Accepts::Numbers:
    return "numbers";
  case Accepts::Floats:
    return "floats";
  case Accepts::Integers:
    return "integers";
  case Accepts::Booleans:
    return "booleans";
  }
  throw InternalError("unknown kind of element type");
}

static bool accept(Accepts accepts, Type type) {
  switch (accepts) {
  case Accepts::Any:
    return true;
  case Accepts::Numbers:
    return !type.isInteger(1) && !isSmallFloat(type) && !isSmallInteger(type);
  case Accepts::Floats:
    return isPlainFloat(type);
  case Accepts::Integers:
    return isa<IntegerType>(type) && type.getIntOrFloatBitWidth() >= 8;
  case Accepts::Booleans:
    return type.isInteger(1);
  }
  throw InternalError("unknown kind of element type");
}

void NodeContext::checkElementType(size_t i, Accepts accepts) const {
  Type found = type(i).getElementType();
  if (!accept(accepts, found))
    fail(ErrorKind::TypeMismatch, "{0}: expected {1}, got {2}", nameOfInput(i),
         expectation(accepts), typeText(found));
}

Value NodeContext::input(size_t i, Accepts accepts) {
  value(i);
  checkElementType(i, accepts);
  return state.values.tensor(node.inputs[i]);
}

SmallVector<Value> NodeContext::inputsOfOneType(Accepts accepts) {
  SmallVector<Value> all;
  for (size_t i = 0; i < std::max<size_t>(inputCount(), 1); ++i) {
    all.push_back(input(i, accepts));
    checkSameType(0, i);
  }
  return all;
}

void NodeContext::checkRank(size_t i, int64_t expected) const {
  if (rank(i) != expected)
    fail(ErrorKind::ShapeMismatch, "{0}: expected rank {1}, got {2}", nameOfInput(i), expected,
         text(shape(i)));
}

void NodeContext::checkSameType(size_t i, size_t j) const {
  if (type(i).getElementType() != type(j).getElementType())
    fail(ErrorKind::TypeMismatch, "{0}: expected {1} as in {2}, got {3}", nameOfInput(j),
         typeText(type(i).getElementType()), nameOfInput(i), typeText(type(j).getElementType()));
}

const SymbolicValue *NodeContext::known(size_t i) const {
  const auto &found = value(i).known;
  if (!found)
    noteUnknown(i);
  return found ? &*found : nullptr;
}

const Tensor &NodeContext::constant(size_t i) const {
  const Tensor &found = value(i).constant;
  if (!found)
    noteUnknown(i);
  return found;
}

const SymbolicValue &NodeContext::sizes(size_t i) const {
  if (const SymbolicValue *found = known(i)) {
    if (found->dtype == DType::Bool || found->shape.size() > 1)
      fail(ErrorKind::InvalidModel, "{0}: expected a list of integers, got {1} of {2}",
           nameOfInput(i), nameOf(found->dtype).data(), shapeString(found->shape));
    return *found;
  }
  fail(ErrorKind::Unsupported,
       "{0}: expected a value that constants and input shapes determine, got one that depends on "
       "data",
       nameOfInput(i));
}

std::vector<int64_t> NodeContext::integers(size_t i) const {
  if (auto numbers = sizes(i).constants())
    return *numbers;
  noteUnknown(i);
  fail(ErrorKind::Unsupported,
       "{0}: expected a constant, got a value that depends on dynamic dimensions", nameOfInput(i));
}

AffineExpr NodeContext::size(size_t i) const {
  if (constant(i) && constant(i).elements() == 1)
    return dim(*constant(i).converted(DType::I64).as<int64_t>());
  const SymbolicValue &found = sizes(i);
  if (found.elements.size() != 1)
    fail(ErrorKind::InvalidModel, "{0}: expected one number, got {1}", nameOfInput(i),
         found.elements.size());
  return found.elements.front();
}

int64_t NodeContext::knownInteger(size_t i) const {
  if (auto number = constantValue(size(i)))
    return *number;
  fail(ErrorKind::Unsupported,
       "{0}: expected a constant, got a value that depends on dynamic dimensions", nameOfInput(i));
}

std::vector<double> NodeContext::numbers(size_t i) const {
  if (constant(i)) {
    Tensor wide = constant(i).converted(DType::F64);
    return {wide.as<double>(), wide.as<double>() + wide.elements()};
  }
  std::vector<int64_t> whole = integers(i);
  return {whole.begin(), whole.end()};
}

std::optional<std::vector<int64_t>> NodeContext::integersOf(const char *attribute,
                                                            size_t input) const {
  if (has(input))
    return integers(input);
  if (node.find(attribute))
    return node.getInts(attribute);
  return std::nullopt;
}

Type NodeContext::elementType(const char *attribute, int64_t otherwise) const {
  int64_t code = node.getInt(attribute, otherwise);
  auto dtype = dtypeOfCode(static_cast<int32_t>(std::clamp<int64_t>(code, 0, 1000)));
  if (!dtype)
    fail(ErrorKind::Unsupported, "attribute '{0}': the element type {1} is not supported",
         attribute, code);
  return toElementType(*dtype, context);
}

int64_t NodeContext::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    fail(ErrorKind::InvalidModel, "axis {0} is outside a tensor of rank {1}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

SmallVector<int64_t> NodeContext::axes(ArrayRef<int64_t> list, int64_t rank) const {
  SmallVector<int64_t> result;
  for (int64_t entry : list) {
    int64_t position = axis(entry, rank);
    if (llvm::is_contained(result, position))
      fail(ErrorKind::InvalidModel, "axis {0} is given twice", entry);
    result.push_back(position);
  }
  return result;
}

static const std::string &outputName(const Node &node, size_t i) {
  static const std::string none;
  return i < node.outputs.size() ? node.outputs[i] : none;
}

void NodeContext::result(Value tensor, size_t i) {
  if (!outputName(node, i).empty())
    state.values.define(node.outputs[i], tensor);
}

void NodeContext::result(const Tensor &constant, size_t i) {
  if (!outputName(node, i).empty())
    state.values.define(node.outputs[i], constant);
}

void NodeContext::result(const SymbolicValue &known, size_t i) {
  if (!outputName(node, i).empty())
    state.values.define(node.outputs[i], known);
}

void NodeContext::resultIsInput() {
  value(0);
  if (!outputName(node, 0).empty())
    state.values.alias(node.outputs[0], node.inputs[0]);
}

} // namespace headrace::onnx
