#include "frontend/graph/GraphBuilder.h"

#include "dialect/SizeAlgebra.h"
#include "dialect/scalar/Formulas.h"
#include "frontend/common/OperatorBuilder.h"
#include "frontend/common/Products.h"
#include "frontend/common/ProgramWriter.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::graph {

struct GraphBuilder::Impl {
  Impl(std::shared_ptr<MLIRContext> owner, std::string title)
      : context(std::move(owner)), name(std::move(title)), writer(*context, name), subject(name) {}

  std::shared_ptr<MLIRContext> context;
  std::string name;
  ProgramWriter writer;
  std::string subject;
  std::vector<Value> nodes;
  std::vector<AffineExpr> openSizes;

  OperatorBuilder op() {
    Location loc = NameLoc::get(writer.builder.getStringAttr(subject));
    return {writer.builder, writer.symbols, writer.diagnostics, loc,
            name + ": " + inQuotes(subject)};
  }

  Node add(Value value) {
    nodes.push_back(value);
    return {nodes.size() - 1};
  }
  Value get(Node node) const {
    if (node.index >= nodes.size())
      throw InternalError("a tensor of another graph");
    return nodes[node.index];
  }
  SmallVector<Value> get(const std::vector<Node> &list) const {
    return llvm::map_to_vector(list, [&](Node node) { return get(node); });
  }
  Type elementType(Node node) const {
    return mlir::cast<RankedTensorType>(get(node).getType()).getElementType();
  }
  AffineExpr get(const Size &size) const {
    if (const auto *number = std::get_if<int64_t>(&size))
      return constantDim(*number, context.get());
    return openSizes.at(std::get<OpenSize>(size).index);
  }
  SymbolicShape get(const Sizes &sizes) const {
    return llvm::map_to_vector(sizes, [&](const Size &size) { return get(size); });
  }
  Size add(AffineExpr expr) {
    if (auto number = constantValue(expr))
      return *number;
    openSizes.push_back(expr);
    return OpenSize{openSizes.size() - 1};
  }
};

static hr::ReduceKind reduceKind(const std::string &name) {
  if (auto known = hr::symbolizeReduceKind(name))
    return *known;
  throw InternalError("no reduction is called " + name);
}

GraphBuilder::GraphBuilder(std::shared_ptr<MLIRContext> context, std::string name)
    : impl(std::make_unique<Impl>(std::move(context), std::move(name))) {}
GraphBuilder::~GraphBuilder() = default;

const std::string &GraphBuilder::name() const { return impl->name; }
const std::shared_ptr<MLIRContext> &GraphBuilder::context() const { return impl->context; }
void GraphBuilder::at(const std::string &node) { impl->subject = node; }

//===--------------------------------------------------------------------------===//
// Sizes and the program's face
//===--------------------------------------------------------------------------===//

OpenSize GraphBuilder::symbol(const std::string &name, int64_t expected) {
  if (expected > 0)
    impl->writer.symbols.expect(name, expected);
  return std::get<OpenSize>(impl->add(impl->writer.symbols.get(name)));
}

void GraphBuilder::bound(OpenSize size, int64_t limit, bool isLow) {
  AffineExpr expr = impl->get(Size(size));
  impl->op().requireNonNegative(isLow ? expr - limit : limit - expr, "its range");
}

Size GraphBuilder::arithmetic(const std::string &function, const Size &a, const Size &b) {
  try {
    DimExpr x = toDimExpr(impl->get(a)), y = toDimExpr(impl->get(b));
    auto add = [&](const DimExpr &size) {
      return impl->add(toAffineExpr(size, impl->context.get()));
    };
    if (function == "add")
      return add(x + y);
    if (function == "sub")
      return add(x - y);
    if (function == "mul")
      return add(x * y);
    if (y.asConstant().value_or(0) <= 0)
      throw Error(ErrorKind::Unsupported,
                  "a size that is divided by the size " + impl->op().text({impl->get(b)}));
    if (function == "floordiv")
      return add(x.floorDiv(y));
    if (function == "ceildiv")
      return add(x.ceilDiv(y));
    if (function == "mod")
      return add(x.mod(y));
  } catch (const Error &error) {
    impl->op().fail(error.kind(), "{0}", error.what());
  }
  throw InternalError("no function of sizes is called " + function);
}

bool GraphBuilder::isNegative(const Size &size) { return impl->op().isNegative(impl->get(size)); }

Node GraphBuilder::input(const std::string &name, DType type, const Sizes &sizes) {
  RankedTensorType tensor =
      impl->op().checkedType(impl->get(sizes), toElementType(type, impl->context.get()));
  return impl->add(impl->writer.addInput(name, tensor));
}

void GraphBuilder::output(const std::string &name, Node node) {
  impl->writer.addOutput(name, impl->get(node));
}

Node GraphBuilder::constant(const Tensor &tensor) { return impl->add(impl->op().constant(tensor)); }

Node GraphBuilder::scalar(double value, DType type) {
  return impl->add(impl->op().scalar(value, toElementType(type, impl->context.get())));
}

Node GraphBuilder::sizeAsData(const Size &size, DType type) {
  return impl->add(
      impl->op().sizeAsData(impl->get(size), toElementType(type, impl->context.get())));
}

Sizes GraphBuilder::shape(Node node) const {
  Sizes sizes;
  for (AffineExpr dim : shapeOf(impl->get(node)))
    sizes.push_back(impl->add(dim));
  return sizes;
}

DType GraphBuilder::dtype(Node node) const { return toDType(impl->elementType(node)); }

OwningOpRef<ModuleOp> GraphBuilder::finish() { return impl->writer.finish(); }

//===--------------------------------------------------------------------------===//
// Element-wise operators
//===--------------------------------------------------------------------------===//

Node GraphBuilder::elementwise(const std::string &function, const std::vector<Node> &operands) {
  OperatorBuilder op = impl->op();
  const NamedFormula *formula = findFormula(function);
  if (!formula)
    throw InternalError("no function of scalars is called " + function);
  if (operands.size() != formula->operands)
    op.fail(ErrorKind::InvalidArgument, "{0}: expected {1} operands, got {2}", function,
            formula->operands, operands.size());
  bool isSelect = function == "select";
  Type type = impl->elementType(operands.back());
  for (size_t i = isSelect ? 1 : 0; i < operands.size(); ++i)
    if (impl->elementType(operands[i]) != type)
      op.fail(ErrorKind::TypeMismatch, "{0}: expected operands of one type, got {1} and {2}",
              function, typeText(impl->elementType(operands[i])), typeText(type));
  if (isSelect && !impl->elementType(operands[0]).isInteger(1))
    op.fail(ErrorKind::TypeMismatch, "select: expected a condition of bool, got {0}",
            typeText(impl->elementType(operands[0])));
  if (formula->floatsOnly && !isa<FloatType>(type))
    op.fail(ErrorKind::TypeMismatch, "{0}: expected floating-point values, got {1}", function,
            typeText(type));
  SmallVector<Value> values = impl->get(operands);
  if (formula->divides)
    values[1] = op.checkedDivisor(values[1]);
  return impl->add(op.map(values, formula->write));
}

Node GraphBuilder::cast(Node x, DType type) {
  return impl->add(impl->op().cast(impl->get(x), toElementType(type, impl->context.get())));
}

Node GraphBuilder::detach(Node x) {
  return impl->add(impl->op().infer<hr::DetachOp>(impl->get(x)));
}

//===--------------------------------------------------------------------------===//
// Movement
//===--------------------------------------------------------------------------===//

Node GraphBuilder::reshape(Node x, const Sizes &sizes) {
  return impl->add(impl->op().reshape(impl->get(x), impl->get(sizes)));
}

Node GraphBuilder::broadcast(Node x, const Sizes &sizes) {
  return impl->add(impl->op().broadcast(impl->get(x), impl->get(sizes)));
}

Node GraphBuilder::transpose(Node x, const Integers &permutation) {
  return impl->add(impl->op().transpose(impl->get(x), permutation));
}

Node GraphBuilder::slice(Node x, const Sizes &starts, const Sizes &sizes, const Integers &steps) {
  return impl->add(impl->op().slice(impl->get(x), impl->get(starts), impl->get(sizes), steps));
}

Node GraphBuilder::concat(const std::vector<Node> &parts, int64_t axis) {
  if (parts.size() == 1)
    return parts.front();
  return impl->add(impl->op().infer<hr::ConcatOp>(impl->get(parts), axis));
}

Node GraphBuilder::pad(Node x, const Integers &low, const Integers &high, double value) {
  Type type = impl->elementType(x);
  Builder &b = impl->writer.builder;
  TypedAttr filling;
  if (isa<FloatType>(type))
    filling = b.getFloatAttr(type, value);
  else
    filling = b.getIntegerAttr(type, static_cast<int64_t>(value));
  return impl->add(impl->op().infer<hr::PadOp>(impl->get(x), low, high, filling));
}

Node GraphBuilder::gather(Node data, Node indices, int64_t axis, bool fromEnd) {
  OperatorBuilder op = impl->op();
  AffineExpr size = shapeOf(impl->get(data))[axis];
  // Clamping needs an element. Sizes 0 and 1 of a symbol are compiled for themselves and know.
  if (!constantValue(size) && !isa<AffineSymbolExpr>(size))
    op.tryRequireNonNegative(size - 1);
  Value inside = op.checkedIndices(impl->get(indices), fromEnd ? -size : op.dim(0), size);
  return impl->add(op.infer<hr::GatherOp>(impl->get(data), inside, axis));
}

Node GraphBuilder::checkedIndices(Node indices, const Size &size, bool fromEnd) {
  OperatorBuilder op = impl->op();
  AffineExpr high = impl->get(size);
  return impl->add(op.checkedIndices(impl->get(indices), fromEnd ? -high : op.dim(0), high));
}

Node GraphBuilder::scatter(Node updates, Node indices, Node data, const std::string &kind) {
  hr::ReduceKindAttr combine;
  if (!kind.empty())
    combine = hr::ReduceKindAttr::get(impl->context.get(), reduceKind(kind));
  Value target = impl->get(data);
  return impl->add(impl->op().create<hr::ScatterOp>(target.getType(), impl->get(updates),
                                                    impl->get(indices), target, combine));
}

Node GraphBuilder::place(Node x, const Integers &starts, const Sizes &sizes,
                         const Integers &steps) {
  OperatorBuilder op = impl->op();
  SymbolicShape from = llvm::map_to_vector(starts, [&](int64_t start) { return op.dim(start); });
  RankedTensorType type = op.checkedType(impl->get(sizes), impl->elementType(x));
  return impl->add(
      op.create<hr::PlaceOp>(type, impl->get(x), symbolMap(from, impl->context.get()), steps));
}

Node GraphBuilder::sort(Node x, int64_t axis, bool descending, const Size &count) {
  OperatorBuilder op = impl->op();
  SymbolicShape shape = shapeOf(impl->get(x));
  shape[axis] = impl->get(count);
  RankedTensorType type = op.checkedType(shape, impl->writer.builder.getI64Type());
  return impl->add(op.create<hr::SortOp>(type, impl->get(x), axis, descending));
}

Node GraphBuilder::targets(Node x, const Size &classes, int64_t ignored) {
  return impl->add(impl->op().checkedTargets(impl->get(x), impl->get(classes), ignored));
}

//===--------------------------------------------------------------------------===//
// Reductions, normalizations, products, windows
//===--------------------------------------------------------------------------===//

Node GraphBuilder::reduce(const std::string &kind, Node x, const Integers &axes, bool keepDims) {
  return impl->add(impl->op().reduce(reduceKind(kind), impl->get(x), axes, keepDims));
}

Node GraphBuilder::scan(const std::string &kind, Node x, int64_t axis, bool exclusive,
                        bool reverse) {
  return impl->add(
      impl->op().infer<hr::ScanOp>(impl->get(x), reduceKind(kind), axis, exclusive, reverse));
}

Node GraphBuilder::softmax(Node x, int64_t axis, bool log) {
  return impl->add(impl->op().infer<hr::SoftmaxOp>(impl->get(x), axis, log));
}

Node GraphBuilder::layerNorm(Node x, Node scale, std::optional<Node> bias, int64_t axis,
                             double epsilon) {
  Builder &b = impl->writer.builder;
  return impl->add(impl->op().infer<hr::LayerNormOp>(
      impl->get(x), impl->get(scale), bias ? impl->get(*bias) : Value(), b.getI64IntegerAttr(axis),
      b.getF64FloatAttr(epsilon)));
}

Node GraphBuilder::batchNorm(Node x, Node scale, Node bias, Node mean, Node variance,
                             double epsilon) {
  MLIRContext *context = impl->context.get();
  return impl->add(impl->op().infer<hr::BatchNormOp>(
      impl->get(x), impl->get(scale), impl->get(bias), impl->get(mean), impl->get(variance),
      impl->writer.builder.getF64FloatAttr(epsilon),
      hr::ChannelLayoutAttr::get(context, hr::ChannelLayout::First)));
}

Node GraphBuilder::attention(Node query, Node key, Node value, std::optional<Node> bias,
                             double scale, bool causal, bool zeroMasked) {
  Builder &b = impl->writer.builder;
  return impl->add(impl->op().infer<hr::AttentionOp>(
      impl->get(query), impl->get(key), impl->get(value), bias ? impl->get(*bias) : Value(),
      b.getF64FloatAttr(scale), b.getBoolAttr(causal), b.getBoolAttr(zeroMasked)));
}

/// The matrix that a batch consists of copies of; null if the batch may be anything else.
static Value repeatedMatrix(Value batch) {
  Value source = batch;
  auto operand = [](Operation *op) { return op->getOperand(0); };
  while (Operation *op = source.getDefiningOp()) {
    bool isSame = isa<hr::ReshapeOp>(op) && shapeOf(source) == shapeOf(operand(op));
    if (!isSame && !isa<hr::BroadcastOp>(op))
      break;
    source = operand(op);
    if (isa<hr::BroadcastOp>(op))
      break;
  }
  SymbolicShape own = shapeOf(source), all = shapeOf(batch);
  bool isMatrix = own.size() == 2 && all.size() > 2;
  return isMatrix && ArrayRef(all).take_back(2) == ArrayRef(own) ? source : Value();
}

Node GraphBuilder::matrixProduct(Node a, Node b) {
  OperatorBuilder op = impl->op();
  Value lhs = impl->get(a), rhs = impl->get(b);
  // One product for all matrices of a batch, whose rows follow each other.
  if (Value matrix = repeatedMatrix(rhs); matrix && shapeOf(lhs).size() == shapeOf(rhs).size()) {
    SymbolicShape shape = shapeOf(lhs);
    AffineExpr rows = op.product(ArrayRef(shape).drop_back());
    Value product = headrace::matrixProduct(op, op.reshape(lhs, {rows, shape.back()}), matrix);
    shape.back() = shapeOf(rhs).back();
    return impl->add(op.reshape(product, shape));
  }
  return impl->add(headrace::matrixProduct(op, lhs, rhs));
}

Node GraphBuilder::contract(const std::string &equation, Node a, Node b) {
  OperatorBuilder op = impl->op();
  auto [operands, result] = StringRef(equation).split("->");
  auto [lhs, rhs] = operands.split(',');
  return impl->add(headrace::contract(op, impl->get(a), impl->get(b), lhs, rhs, result));
}

Node GraphBuilder::convolution(Node image, Node filter, const Window &window, int64_t groups) {
  return impl->add(impl->op().infer<hr::ConvOp>(impl->get(image), impl->get(filter), window.strides,
                                                window.dilations, window.pads, groups,
                                                hr::ChannelLayout::First, TypeAttr()));
}

Node GraphBuilder::pool(const std::string &kind, Node image, const Integers &size,
                        const Window &window, bool includePad) {
  auto known = hr::symbolizePoolKind(kind);
  if (!known)
    throw InternalError("no pooling is called " + kind);
  return impl->add(impl->op().infer<hr::PoolOp>(impl->get(image), *known, size, window.strides,
                                                window.dilations, window.pads, includePad,
                                                hr::ChannelLayout::First));
}

} // namespace headrace::graph
