#include "target/cuda/expansion/Epilogue.h"

#include "dialect/SymbolicShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

/// The value without conversions between types of floating-point numbers.
Value unconverted(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool isNumber(Value value, double number) {
  auto constant = unconverted(value).getDefiningOp<arith::ConstantOp>();
  auto attribute = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return attribute && attribute.getValueAsDouble() == number;
}

/// Both operands in either order.
template <class Op, class First, class Second>
bool matches(Value value, const First &first, const Second &second) {
  auto op = unconverted(value).getDefiningOp<Op>();
  return op && ((first(op.getLhs()) && second(op.getRhs())) ||
                (first(op.getRhs()) && second(op.getLhs())));
}

/// x / (1 + exp(-x)), as a product.
bool isSwish(Value value, Value x) {
  auto is = [&](Value other) { return unconverted(other) == x; };
  auto isExp = [&](Value other) {
    auto exp = unconverted(other).getDefiningOp<math::ExpOp>();
    auto negated =
        exp ? unconverted(exp.getOperand()).getDefiningOp<arith::NegFOp>() : arith::NegFOp();
    return negated && is(negated.getOperand());
  };
  auto isSigmoid = [&](Value other) {
    auto quotient = unconverted(other).getDefiningOp<arith::DivFOp>();
    auto isOne = [](Value number) { return isNumber(number, 1); };
    return quotient && isOne(quotient.getLhs()) &&
           matches<arith::AddFOp>(quotient.getRhs(), isExp, isOne);
  };
  return matches<arith::MulFOp>(value, is, isSigmoid);
}

class Matcher {
public:
  explicit Matcher(Operation *product)
      : type(cast<RankedTensorType>(product->getResult(0).getType())),
        current(product->getResult(0)) {}

  Epilogue run() {
    while (current.hasOneUse()) {
      auto map = dyn_cast<hr::MapOp>(*current.user_begin());
      if (!map || map->getNumResults() != 1 || !sameShape(map.getResult()) || !take(map))
        break;
      found.maps.push_back(map);
      current = map.getResult();
      // Values between are not rounded: an epilogue ends where its type is the product's again.
      if (current.getType() == type)
        complete = found;
    }
    return complete;
  }

private:
  bool sameShape(Value value) const { return shapeOf(value) == shapeOf(type); }

  /// Whether the map continues the epilogue; then it is part of it.
  bool take(hr::MapOp map) {
    Block &body = map.getBody().front();
    Value value = unconverted(body.getTerminator()->getOperand(0));
    if (map.getInputs().size() == 2)
      return takeSum(map, value);
    if (map.getInputs().size() != 1 || !getElementTypeOrSelf(map.getResult()).isIntOrFloat())
      return false;
    Value x = body.getArgument(0);
    auto isX = [&](Value other) { return unconverted(other) == x; };
    auto is = [](double number) { return [=](Value other) { return isNumber(other, number); }; };
    if (value == x)
      return isa<FloatType>(getElementTypeOrSelf(map.getResult()));
    using Kind = CuDnnActivation;
    if (found.activation == Kind::None && matches<arith::MaximumFOp>(value, isX, is(0)))
      return become(Kind::Relu);
    if (found.activation == Kind::Relu && matches<arith::MinimumFOp>(value, isX, is(6)))
      return become(Kind::Relu6);
    if (found.activation == Kind::None && isSwish(value, x))
      return become(Kind::Swish);
    return false;
  }

  bool become(CuDnnActivation activation) {
    found.activation = activation;
    return true;
  }

  bool takeSum(hr::MapOp map, Value value) {
    Block &body = map.getBody().front();
    size_t own = map.getInputs()[0] == current ? 0 : 1;
    Value other = map.getInputs()[1 - own];
    Value mine = body.getArgument(own), added = body.getArgument(1 - own);
    bool adds = matches<arith::AddFOp>(
        value, [&](Value each) { return unconverted(each) == mine; },
        [&](Value each) { return unconverted(each) == added; });
    if (!adds || other == current || found.activation != CuDnnActivation::None)
      return false;
    if (!found.bias && isPerColumn(other)) {
      found.bias = other;
      return true;
    }
    if (!found.residual && other.getType() == type) {
      found.residual = other;
      return true;
    }
    return false;
  }

  bool isPerColumn(Value value) const {
    SymbolicShape shape = shapeOf(value), whole = shapeOf(type);
    Type element = getElementTypeOrSelf(value);
    if (shape.empty() || shape.size() > whole.size() || !sameSize(shape.back(), whole.back()) ||
        !(element.isF32() || element == type.getElementType()))
      return false;
    return llvm::all_of(ArrayRef(shape).drop_back(),
                        [](AffineExpr size) { return constantValue(size) == 1; });
  }

  RankedTensorType type;
  Value current;
  Epilogue found, complete;
};

} // namespace

Value Epilogue::result(Operation *product) const {
  return maps.empty() ? product->getResult(0) : Value(hr::MapOp(maps.back()).getResult());
}

Epilogue epilogueOf(Operation *product) { return Matcher(product).run(); }

} // namespace headrace::cuda
