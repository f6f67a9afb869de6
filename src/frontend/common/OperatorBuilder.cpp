#include "frontend/common/OperatorBuilder.h"

#include "dialect/ConstantData.h"
#include "dialect/SizeAlgebra.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace {

// Beyond any machine; a bound for what a file can ask for.
static constexpr int64_t kMaxRank = 32;
static constexpr int64_t kMaxBytes = int64_t(1) << 42;

Value createSizeAsData(OpBuilder &builder, Location loc, AffineExpr size, Type elementType) {
  Tensor zero = Tensor::allocate(DType::I8, {});
  *zero.as<int8_t>() = 0;
  Value nothing = createConstant(builder, loc, zero.converted(toDType(elementType)));
  return createMap(builder, loc, nothing, [&](OpBuilder &b, ValueRange) -> Value {
    Value index = b.create<hr::SizeOp>(loc, symbolMap({size}, b.getContext()));
    Value number = b.create<arith::IndexCastOp>(loc, b.getI64Type(), index);
    return ScalarMath(b, loc).convert(number, elementType);
  });
}

OperatorBuilder::OperatorBuilder(OpBuilder &builder, Symbols &symbols,
                                 const std::string &diagnostics, Location loc, std::string subject)
    : builder(builder), loc(loc), context(builder.getContext()), symbols(symbols),
      diagnostics(diagnostics), subject(std::move(subject)) {}

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return type.isInteger(1) ? "bool" : text;
}

Value createConstant(OpBuilder &builder, Location loc, const Tensor &tensor) {
  auto type =
      RankedTensorType::get(tensor.shape(), toElementType(tensor.dtype(), builder.getContext()));
  return builder.create<hr::ConstantOp>(loc, type, tensorAttribute(tensor, type));
}

Value OperatorBuilder::map(ValueRange inputs, Formula formula) {
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

Value OperatorBuilder::cast(Value tensor, Type elementType) {
  if (mlir::cast<RankedTensorType>(tensor.getType()).getElementType() == elementType)
    return tensor;
  return map(tensor, [&](ScalarMath &m, ValueRange x) { return m.convert(x[0], elementType); });
}

Value OperatorBuilder::reshape(Value tensor, ArrayRef<AffineExpr> dims) {
  auto from = mlir::cast<RankedTensorType>(tensor.getType());
  RankedTensorType to = checkedType(dims, from.getElementType());
  if (!sameSize(product(shapeOf(from)), product(dims)))
    fail(ErrorKind::ShapeMismatch, "{0} cannot take the shape {1}", text(shapeOf(from)),
         text(dims));
  return from == to ? tensor : create<hr::ReshapeOp>(to, tensor);
}

Value OperatorBuilder::broadcast(Value tensor, ArrayRef<AffineExpr> dims) {
  auto from = mlir::cast<RankedTensorType>(tensor.getType());
  RankedTensorType to = checkedType(dims, from.getElementType());
  return from == to ? tensor : create<hr::BroadcastOp>(to, tensor);
}

Value OperatorBuilder::transpose(Value tensor, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return tensor;
  return infer<hr::TransposeOp>(tensor, permutation);
}

Value OperatorBuilder::slice(Value tensor, ArrayRef<AffineExpr> starts, ArrayRef<AffineExpr> sizes,
                             ArrayRef<int64_t> steps) {
  auto from = mlir::cast<RankedTensorType>(tensor.getType());
  RankedTensorType to = checkedType(sizes, from.getElementType());
  if (from == to && llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return tensor;
  return create<hr::SliceOp>(to, tensor, symbolMap(starts, context), steps);
}

Value OperatorBuilder::reduce(hr::ReduceKind kind, Value tensor, ArrayRef<int64_t> axes,
                              bool keepDims) {
  return infer<hr::ReduceOp>(tensor, kind, axes, keepDims);
}

Value OperatorBuilder::checkedValues(hr::CheckKind kind, Value values, AffineExpr low,
                                     AffineExpr high, std::optional<int64_t> excepted,
                                     const std::string &who) {
  // Checks read signed numbers; what is 0 is so in any type.
  Type element = mlir::cast<RankedTensorType>(values.getType()).getElementType();
  if (element.isUnsignedInteger() && kind != hr::CheckKind::Divisor)
    values = cast(values, builder.getI64Type());
  Value result = create<hr::CheckOp>(
      values, hr::CheckKindAttr::get(context, kind),
      AffineMapAttr::get(symbolMap({low, high}, context)), builder.getStringAttr(who),
      excepted ? builder.getI64IntegerAttr(*excepted) : IntegerAttr());
  auto check = mlir::cast<hr::CheckOp>(result.getDefiningOp());
  if (auto constant = values.getDefiningOp<hr::ConstantOp>();
      constant && check.getBounds().isConstant())
    check.evaluate({constant.evaluate({}, {})}, {});
  if (!hr::isAlwaysMet(check))
    return result;
  check.erase();
  return values;
}

Value OperatorBuilder::checkedIndices(Value indices, AffineExpr low, AffineExpr high) {
  return checkedValues(hr::CheckKind::Index, indices, low, high, std::nullopt, subject);
}

Value OperatorBuilder::checkedIndices(Value indices, AffineExpr high, std::optional<int64_t> unread,
                                      const std::string &reader) {
  return checkedValues(hr::CheckKind::Index, indices, dim(0), high, unread, reader);
}

Value OperatorBuilder::checkedDivisor(Value divisor) {
  Type element = mlir::cast<RankedTensorType>(divisor.getType()).getElementType();
  if (!isa<IntegerType>(element))
    return divisor;
  return checkedValues(hr::CheckKind::Divisor, divisor, dim(0), dim(0), std::nullopt, subject);
}

Value OperatorBuilder::checkedTargets(Value targets, AffineExpr classes, int64_t excepted) {
  return checkedValues(hr::CheckKind::Target, targets, dim(0), classes, excepted, subject);
}

Value OperatorBuilder::constant(const Tensor &tensor) {
  return createConstant(builder, loc, tensor);
}

Value OperatorBuilder::scalar(double value, Type elementType) {
  Tensor wide = Tensor::allocate(DType::F64, {});
  *wide.as<double>() = value;
  return constant(wide.converted(toDType(elementType)));
}

Value OperatorBuilder::sizeAsData(AffineExpr size, Type elementType) {
  return checked(createSizeAsData(builder, loc, size, elementType).getDefiningOp());
}

AffineExpr OperatorBuilder::product(ArrayRef<AffineExpr> dims) const {
  return headrace::elementCount(dims, context);
}

bool OperatorBuilder::tryRequireNonNegative(AffineExpr expr) {
  return symbols.requireNonNegative(expr);
}

void OperatorBuilder::requireNonNegative(AffineExpr expr, const char *what) {
  expr = normalized(expr);
  if (!tryRequireNonNegative(expr))
    failNegative(expr, what);
}

bool OperatorBuilder::decideNonNegative(AffineExpr expr, const char *what) {
  expr = normalized(expr);
  std::optional<bool> answer = symbols.decideNonNegative(expr);
  if (!answer)
    failNegative(expr, what);
  return *answer;
}

void OperatorBuilder::failNegative(AffineExpr expr, const char *what) const {
  if (auto number = constantValue(expr))
    fail(ErrorKind::ShapeMismatch, "{0}: expected 0 or more, got {1}", what, *number);
  fail(ErrorKind::ShapeMismatch, "{0}: expected {1} to be 0 or more", what, text({expr}));
}

void OperatorBuilder::checkSizes(ArrayRef<AffineExpr> dims, Type type) const {
  int64_t bytes = sizeOf(toDType(type));
  for (AffineExpr expr : dims) {
    auto size = constantValue(expr);
    if (symbols.isNegative(expr))
      fail(ErrorKind::ShapeMismatch, "expected sizes of 0 or more, got {0}", text(dims));
    if (!isManageable(expr, kMaxBytes))
      fail(ErrorKind::Unsupported, "a size is too large or depends on the inputs in too many ways");
    if (!size && !isNonNegative(expr))
      (void)symbols.requireNonNegative(expr); // if not provable now, calls check it
    if (size && *size > 0 && (llvm::MulOverflow(bytes, *size, bytes) || bytes > kMaxBytes))
      fail(ErrorKind::Unsupported, "a result of {0} elements is too large", text(dims));
  }
}

RankedTensorType OperatorBuilder::checkedType(ArrayRef<AffineExpr> dims, Type type) const {
  if (static_cast<int64_t>(dims.size()) > kMaxRank)
    fail(ErrorKind::Unsupported, "expected a result of rank {0} or less, got {1}", kMaxRank,
         dims.size());
  checkSizes(dims, type);
  return tensorType(dims, type);
}

Value OperatorBuilder::checked(Operation *op) {
  auto type = mlir::cast<RankedTensorType>(op->getResult(0).getType());
  checkedType(shapeOf(type), type.getElementType());
  if (failed(verify(op)))
    failWithDiagnostics();
  return op->getResult(0);
}

void OperatorBuilder::failWithDiagnostics() const {
  StringRef message = diagnostics;
  // "'hr.reshape' op cannot ...": the user's node is named already.
  if (message.starts_with("'hr."))
    message = message.split("' op ").second;
  fail(ErrorKind::ShapeMismatch, "{0}", message);
}

} // namespace headrace
