// Each operation's derivative follows from those of its operands, in the order of the body. The
// derivative of a choice is a choice of derivatives: what is not chosen may be infinite and does no
// harm, as it would in products with a gradient of zero.
#include "dialect/scalar/ScalarDerivative.h"

#include "dialect/Hr.h"
#include "dialect/scalar/ScalarPatterns.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <numbers>

using namespace mlir;
using arith::CmpFPredicate;

namespace headrace {
namespace {

/// Constant between its steps.
bool isStepwise(Operation *op) {
  return isa<
#define HEADRACE_FUNCTION(...)
#define HEADRACE_STEPS(Id, name, value, Operation, ...) Operation,
#include "runtime/scalar/Functions.def"
      math::RoundOp>(op);
}

/// A linear function of a derivative, which goes into a choice of it and zero: what is not chosen
/// stays zero if the function is infinite or no number.
Value throughChoice(OpBuilder &b, Location loc, Value derivative,
                    llvm::function_ref<Value(Value)> function) {
  auto choice = derivative.getDefiningOp<arith::SelectOp>();
  if (!choice)
    return function(derivative);
  bool first = matchPattern(choice.getTrueValue(), m_AnyZeroFloat());
  bool second = matchPattern(choice.getFalseValue(), m_AnyZeroFloat());
  if (first == second)
    return function(derivative);
  auto branch = [&](Value value, bool isZero) {
    return isZero ? value : throughChoice(b, loc, value, function);
  };
  Value yes = branch(choice.getTrueValue(), first), no = branch(choice.getFalseValue(), second);
  return b.create<arith::SelectOp>(loc, choice.getCondition(), yes, no);
}

class Differentiator {
public:
  Differentiator(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  void seed(Value argument) { derivatives[argument] = constant(argument, 1); }

  /// The derivative of a value so far; null if it is zero.
  Value of(Value value) const { return derivatives.lookup(value); }

  /// Adds the derivative of the operation's result; failure if it has none.
  LogicalResult visit(Operation *op) {
    bool active = op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType()) &&
                  llvm::any_of(op->getOperands(), [&](Value v) { return of(v) != nullptr; });
    if (!active || isStepwise(op))
      return success();
    Value derivative;
    if (auto softplus = matchSoftplus(op->getResult(0)))
      derivative = softplusDerivative(*softplus);
    else if (auto x = matchLogistic(op->getResult(0)))
      derivative = logisticDerivative(*x, op->getResult(0));
    else if (op->getNumOperands() == 1)
      derivative = unary(op, op->getOperand(0), op->getResult(0));
    else
      derivative = several(op);
    if (!derivative)
      return op->emitError("scalar operation ") << op->getName() << " has no derivative";
    derivatives[op->getResult(0)] = derivative;
    return success();
  }

private:
  //===------------------------------------------------------------------------===//
  // Arithmetic
  //===------------------------------------------------------------------------===//

  Value constant(Value like, double value) {
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(like.getType(), value));
  }
  Value add(Value a, Value c) { return b.createOrFold<arith::AddFOp>(loc, a, c); }
  Value sub(Value a, Value c) { return b.createOrFold<arith::SubFOp>(loc, a, c); }
  Value mul(Value a, Value c) { return scaleDerivative(b, loc, a, c); }
  Value div(Value a, Value c) {
    return throughChoice(b, loc, a, [&](Value each) -> Value {
      return b.createOrFold<arith::DivFOp>(loc, each, c);
    });
  }
  Value neg(Value a) {
    return throughChoice(
        b, loc, a, [&](Value each) -> Value { return b.createOrFold<arith::NegFOp>(loc, each); });
  }
  /// A choice stays one, so that what multiplies the derivative later still goes into it.
  template <class Cast> Value cast(Value a, Type type) {
    if (auto choice = a.getDefiningOp<arith::SelectOp>())
      return select(choice.getCondition(), cast<Cast>(choice.getTrueValue(), type),
                    cast<Cast>(choice.getFalseValue(), type));
    return b.createOrFold<Cast>(loc, type, a);
  }
  Value square(Value a) { return mul(a, a); }
  Value times(Value a, double factor) { return mul(a, constant(a, factor)); }
  Value oneMinus(Value a) { return sub(constant(a, 1), a); }
  Value onePlus(Value a) { return add(a, constant(a, 1)); }
  Value compare(CmpFPredicate kind, Value a, Value c) {
    return b.create<arith::CmpFOp>(loc, kind, a, c);
  }
  Value select(Value condition, Value yes, Value no) {
    return b.create<arith::SelectOp>(loc, condition, yes, no);
  }
  template <class Op> Value apply(Value a) { return b.create<Op>(loc, a); }
  Value sum(Value a, Value c) { return !a ? c : !c ? a : add(a, c); }
  Value difference(Value a, Value c) { return !c ? a : !a ? neg(c) : sub(a, c); }
  Value product(Value a, Value c) { return a && c ? mul(a, c) : Value(); }
  Value orZero(Value a, Value like) { return a ? a : constant(like, 0); }

  //===------------------------------------------------------------------------===//
  // Rules
  //===------------------------------------------------------------------------===//

  /// The logistic function, from the exponential that is there already.
  Value softplusDerivative(const Softplus &softplus) {
    auto [x, t] = softplus;
    Value positive = compare(CmpFPredicate::OGE, x, constant(x, 0));
    Value logistic = div(select(positive, constant(t, 1), t), onePlus(t));
    return mul(of(x), logistic);
  }

  /// Its exponential may be infinite if the result is 0.
  Value logisticDerivative(Value x, Value y) { return mul(of(x), mul(y, oneMinus(y))); }

  /// y = f(x): f'(x) dx.
  Value unary(Operation *op, Value x, Value y) {
    using namespace std::numbers;
    Value dx = of(x);
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case([&](arith::NegFOp) { return neg(dx); })
        .Case<arith::ExtFOp, arith::TruncFOp>(
            [&](auto converts) { return cast<decltype(converts)>(dx, y.getType()); })
        .Case([&](math::AbsFOp) {
          Value zero = constant(x, 0);
          Value falls = select(compare(CmpFPredicate::OLT, x, zero), neg(dx), zero);
          return select(compare(CmpFPredicate::OGT, x, zero), dx, falls);
        })
        .Case([&](math::RsqrtOp) { return mul(dx, div(times(y, -0.5), x)); })
#define HEADRACE_FUNCTION(Id, name, value, Operation, derivative, ...)                             \
  .Case([&](Operation) -> Value { return derivative; })
#include "runtime/scalar/Functions.def"
        .Default([](Operation *) { return Value(); });
  }

  Value several(Operation *op) {
    Value a = op->getOperand(0), c = op->getOperand(1), y = op->getResult(0);
    Value da = of(a), dc = of(c);
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case([&](arith::AddFOp) { return sum(da, dc); })
        .Case([&](arith::SubFOp) { return difference(da, dc); })
        .Case([&](arith::MulFOp) { return sum(product(da, c), product(dc, a)); })
        .Case([&](arith::DivFOp) { return div(difference(da, product(dc, y)), c); })
        .Case([&](arith::RemFOp) {
          return difference(da, dc ? mul(dc, apply<math::TruncOp>(div(a, c))) : Value());
        })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>(
            [&](Operation *) { return extremum(a, c, y, CmpFPredicate::OGT, /*atBound=*/0); })
        .Case<arith::MinimumFOp, arith::MinNumFOp>(
            [&](Operation *) { return extremum(a, c, y, CmpFPredicate::OLT, /*atBound=*/1); })
        .Case([&](arith::SelectOp choice) {
          return select(choice.getCondition(), orZero(of(choice.getTrueValue()), y),
                        orZero(of(choice.getFalseValue()), y));
        })
        .Case([&](math::FmaOp fma) {
          return sum(sum(product(da, c), product(dc, a)), of(fma.getC()));
        })
        .Case([&](math::PowFOp) { return sum(powerByBase(a, c), powerByExponent(a, c, y)); })
        .Case([&](math::FPowIOp power) {
          Value n = power.getRhs();
          Value one = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(n.getType(), 1));
          Value less = b.create<math::FPowIOp>(loc, a, b.create<arith::SubIOp>(loc, n, one));
          Value factor = b.create<arith::SIToFPOp>(loc, a.getType(), n);
          return mul(da, mul(factor, less));
        })
        .Case([&](math::Atan2Op) {
          // An angle at the origin is taken to stay as it is.
          Value distance = add(square(a), square(c)), zero = constant(a, 0);
          Value turn = div(difference(product(da, c), product(dc, a)), distance);
          return select(compare(CmpFPredicate::OEQ, distance, zero), zero, turn);
        })
        .Case([&](math::CopySignOp) {
          Value kept = b.create<math::CopySignOp>(loc, constant(a, 1), a);
          Value given = b.create<math::CopySignOp>(loc, constant(a, 1), c);
          return mul(orZero(da, y), mul(kept, given));
        })
        .Default([](Operation *) { return Value(); });
  }

  /// The larger (or smaller) of two, by which predicate wins. Equal values share the derivative;
  /// a bound that is constant takes all or nothing: relu(x) is flat at 0, as is usual, and what is
  /// clipped from above still moves if it meets the bound.
  Value extremum(Value a, Value c, Value y, CmpFPredicate wins, double atBound) {
    Value da = of(a), dc = of(c);
    bool bounded = isConstant(a) || isConstant(c);
    // Whether an operand exceeds its bound can be told from the result.
    if (bounded && atBound == 0)
      return select(compare(wins, y, isConstant(a) ? a : c), da ? da : dc, constant(y, 0));
    double whenEqual = bounded ? atBound : 0.5;
    auto ifWins = [&](Value first, Value second, Value derivative, Value otherwise) {
      return select(compare(wins, first, second), derivative, otherwise);
    };
    Value equal = times(sum(da, dc), whenEqual);
    Value tied = select(compare(CmpFPredicate::OEQ, a, c), equal, constant(a, 0));
    if (da)
      tied = ifWins(a, c, da, tied);
    if (dc)
      tied = ifWins(c, a, dc, tied);
    return tied;
  }

  static bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

  Value powerByBase(Value a, Value n) {
    Value da = of(a);
    if (!da)
      return {};
    FloatAttr exponent;
    if (matchPattern(n, m_Constant(&exponent)) && exponent.getValueAsDouble() == 2)
      return mul(da, times(a, 2));
    if (matchPattern(n, m_AnyZeroFloat()))
      return constant(a, 0);
    Value slope = mul(n, b.create<math::PowFOp>(loc, a, sub(n, constant(n, 1))));
    // x^0 is constant, also at 0.
    if (!isConstant(n))
      slope = select(compare(CmpFPredicate::OEQ, n, constant(n, 0)), constant(n, 0), slope);
    return mul(da, slope);
  }

  Value powerByExponent(Value a, Value n, Value y) {
    Value dn = of(n);
    if (!dn)
      return {};
    Value zero = constant(a, 0);
    Value slope = mul(y, apply<math::LogOp>(a));
    // 0^n is constant except for negative n, for which it is infinite.
    Value flat = b.create<arith::AndIOp>(loc, compare(CmpFPredicate::OEQ, a, zero),
                                         compare(CmpFPredicate::OGE, n, zero));
    return mul(dn, select(flat, zero, slope));
  }

  OpBuilder &b;
  Location loc;
  llvm::DenseMap<Value, Value> derivatives;
};

} // namespace

Value scaleDerivative(OpBuilder &b, Location loc, Value derivative, Value factor) {
  return throughChoice(b, loc, derivative, [&](Value each) -> Value {
    return matchPattern(each, m_OneFloat()) ? factor
                                            : b.createOrFold<arith::MulFOp>(loc, each, factor);
  });
}

bool dependsOn(Block &body, unsigned index) {
  llvm::SmallDenseSet<Value> active;
  if (isa<FloatType>(body.getArgument(index).getType()))
    active.insert(body.getArgument(index));
  for (Operation &op : body.without_terminator())
    if (!isStepwise(&op) && isa<FloatType>(op.getResult(0).getType()) &&
        llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
      active.insert(op.getResult(0));
  return active.contains(body.getTerminator()->getOperand(0));
}

/// Whether the value is a function of `only` (and constants), as written now.
static bool isFunctionOf(Value value, Value only) {
  SmallVector<Value> pending{value};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (next == only || !seen.insert(next).second)
      continue;
    if (isa<BlockArgument>(next))
      return false;
    llvm::append_range(pending, next.getDefiningOp()->getOperands());
  }
  return true;
}

Value buildDerivative(OpBuilder &builder, Location loc, Block &body, ValueRange scalars,
                      Value result, unsigned index) {
  IRMapping mapping;
  mapping.map(body.getArguments(), scalars);
  Differentiator differentiator(builder, loc);
  differentiator.seed(scalars[index]);
  for (Operation &op : body.without_terminator())
    if (failed(differentiator.visit(builder.clone(op, mapping))))
      return {};
  Value yielded = mapping.lookup(body.getTerminator()->getOperand(0));
  Value derivative = differentiator.of(yielded);
  if (!result)
    return derivative;
  if (isa<BlockArgument>(yielded) || derivative == yielded)
    return isa<BlockArgument>(yielded) ? derivative : result;
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : yielded.getUses())
    uses.push_back(&use);
  for (OpOperand *use : uses)
    use->set(result);
  if (!isFunctionOf(derivative, result))
    for (OpOperand *use : uses)
      use->set(yielded);
  return derivative;
}

} // namespace headrace
