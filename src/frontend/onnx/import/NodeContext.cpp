#include "frontend/onnx/import/NodeContext.h"

#include "frontend/onnx/Text.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace::onnx {

// Beyond any machine; a bound for what a file can ask for.
static constexpr int64_t kMostRank = 32;
static constexpr int64_t kMostBytes = int64_t(1) << 42;

/// The user's name of a node, by which reports speak of what became of it.
static Location locationOf(const Node &node, MLIRContext *context) {
  std::string name = node.name;
  if (name.empty())
    name = node.opType + "_" + (node.outputs.empty() ? "" : node.outputs.front());
  return NameLoc::get(StringAttr::get(context, name));
}

NodeContext::NodeContext(const Node &node, ImportState &state)
    : node(node), opset(state.opset), builder(state.builder),
      loc(locationOf(node, state.builder.getContext())), context(state.builder.getContext()),
      state(state) {}

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return type.isInteger(1) ? "bool" : text;
}

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
    return !type.isInteger(1);
  case Accepts::Floats:
    return isa<FloatType>(type);
  case Accepts::Booleans:
    return type.isInteger(1);
  }
  throw InternalError("unknown kind of element type");
}

void NodeContext::checkElementType(size_t i, Accepts accepts) const {
  Type found = type(i).getElementType();
  if (!accept(accepts, found))
    fail(ErrorKind::TypeMismatch, "{0}: expected {1}, found {2}", nameOfInput(i),
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
    fail(ErrorKind::ShapeMismatch, "{0}: expected rank {1}, found {2}", nameOfInput(i), expected,
         text(shape(i)));
}

void NodeContext::checkSameType(size_t i, size_t j) const {
  if (type(i).getElementType() != type(j).getElementType())
    fail(ErrorKind::TypeMismatch, "{0}: expected {1} as in {2}, found {3}", nameOfInput(j),
         typeText(type(i).getElementType()), nameOfInput(i), typeText(type(j).getElementType()));
}

const SymbolicValue *NodeContext::known(size_t i) const {
  const auto &found = value(i).known;
  return found ? &*found : nullptr;
}

const SymbolicValue &NodeContext::sizes(size_t i) const {
  if (const SymbolicValue *found = known(i)) {
    if (found->dtype == DType::Bool || found->shape.size() > 1)
      fail(ErrorKind::InvalidModel, "{0}: expected a list of integers, found {1} of {2}",
           nameOfInput(i), nameOf(found->dtype).data(), shapeString(found->shape));
    return *found;
  }
  fail(ErrorKind::Unsupported,
       "{0}: expected a value that constants and input shapes determine, found one that depends on "
       "data",
       nameOfInput(i));
}

std::vector<int64_t> NodeContext::integers(size_t i) const {
  if (auto numbers = sizes(i).constants())
    return *numbers;
  fail(ErrorKind::Unsupported, "{0}: expected a constant, found a value that depends on free sizes",
       nameOfInput(i));
}

std::optional<std::vector<int64_t>> NodeContext::integersOf(const char *attribute,
                                                            size_t input) const {
  if (has(input))
    return integers(input);
  if (node.find(attribute))
    return node.getInts(attribute);
  return std::nullopt;
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

Value NodeContext::map(ValueRange inputs, Formula formula) {
  SymbolicShape joined;
  for (Value operand : inputs) {
    auto next = broadcastShapes(joined, shapeOf(operand));
    if (!next)
      fail(ErrorKind::ShapeMismatch, "shapes {0} and {1} do not broadcast", text(joined),
           text(shapeOf(operand)));
    joined = *next;
  }
  Value mapped = createMap(builder, loc, inputs, [&](OpBuilder &inner, ValueRange scalars) {
    ScalarMath math(inner, loc);
    return formula(math, scalars);
  });
  return checked(mapped.getDefiningOp());
}

Value NodeContext::cast(Value tensor, Type elementType) {
  if (mlir::cast<RankedTensorType>(tensor.getType()).getElementType() == elementType)
    return tensor;
  return map(tensor, [&](ScalarMath &m, ValueRange x) { return m.convert(x[0], elementType); });
}

Value NodeContext::reshape(Value tensor, ArrayRef<AffineExpr> dims) {
  auto from = mlir::cast<RankedTensorType>(tensor.getType());
  RankedTensorType to = checkedType(dims, from.getElementType());
  if (!sameSize(product(shapeOf(from)), product(dims)))
    fail(ErrorKind::ShapeMismatch, "{0} cannot take the shape {1}", text(shapeOf(from)),
         text(dims));
  return from == to ? tensor : create<hr::ReshapeOp>(to, tensor);
}

Value NodeContext::broadcast(Value tensor, ArrayRef<AffineExpr> dims) {
  auto from = mlir::cast<RankedTensorType>(tensor.getType());
  RankedTensorType to = checkedType(dims, from.getElementType());
  return from == to ? tensor : create<hr::BroadcastOp>(to, tensor);
}

Value NodeContext::transpose(Value tensor, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return tensor;
  return infer<hr::TransposeOp>(tensor, permutation);
}

Value NodeContext::reduce(hr::ReduceKind kind, Value tensor, ArrayRef<int64_t> axes,
                          bool keepDims) {
  return infer<hr::ReduceOp>(tensor, kind, axes, keepDims);
}

Value NodeContext::scalar(double value, Type elementType) {
  Tensor wide = Tensor::allocate(DType::F64, {});
  *wide.as<double>() = value;
  return createConstant(builder, loc, wide.converted(toDType(elementType)));
}

AffineExpr NodeContext::product(ArrayRef<AffineExpr> dims) const {
  return headrace::elementCount(dims, context);
}

bool NodeContext::tryRequireNonNegative(AffineExpr expr) {
  return state.symbols.requireNonNegative(expr);
}

void NodeContext::requireNonNegative(AffineExpr expr, const char *what) {
  expr = normalized(expr);
  if (!tryRequireNonNegative(expr))
    fail(constantValue(expr) ? ErrorKind::ShapeMismatch : ErrorKind::Unsupported,
         "{0}: expected {1} to be 0 or more", what, text({expr}));
}

void NodeContext::checkSizes(ArrayRef<AffineExpr> dims, Type type) const {
  int64_t bytes = sizeOf(toDType(type));
  for (AffineExpr expr : dims) {
    auto size = constantValue(expr);
    if (size && *size < 0)
      fail(ErrorKind::ShapeMismatch, "expected sizes of 0 or more, found {0}", text(dims));
    if (!isManageable(expr, kMostBytes))
      fail(ErrorKind::Unsupported, "a size is too large or depends on the inputs in too many ways");
    if (size && *size > 0 && (llvm::MulOverflow(bytes, *size, bytes) || bytes > kMostBytes))
      fail(ErrorKind::Unsupported, "a result of {0} elements is too large", text(dims));
  }
}

RankedTensorType NodeContext::checkedType(ArrayRef<AffineExpr> dims, Type type) const {
  if (static_cast<int64_t>(dims.size()) > kMostRank)
    fail(ErrorKind::Unsupported, "expected a result of rank {0} or less, found {1}", kMostRank,
         dims.size());
  checkSizes(dims, type);
  return tensorType(dims, type);
}

Value NodeContext::checked(Operation *op) {
  auto type = mlir::cast<RankedTensorType>(op->getResult(0).getType());
  checkedType(shapeOf(type), type.getElementType());
  if (failed(verify(op)))
    failWithDiagnostics();
  return op->getResult(0);
}

void NodeContext::failWithDiagnostics() const {
  StringRef message = state.diagnostics;
  // "'hr.reshape' op cannot ...": the user's node is named already.
  if (message.starts_with("'hr."))
    message = message.split("' op ").second;
  fail(ErrorKind::ShapeMismatch, "{0}", message);
}

} // namespace headrace::onnx
