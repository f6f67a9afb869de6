// Level 3: reduction loops leave out the iterations that a condition on indices masks completely.
//
// Before (the sum of a triangle, 16 rows at a time):
//   %sum = scf.for %k = 0 to 64 iter_args(%acc = %zero) -> vector<16xf32> {
//     %in = arith.cmpi sle, broadcast(%k), %i + [0 .. 15]
//     %x = arith.select %in, %a, 0.0 ; %new = arith.addf %acc, %x ; scf.yield %new
//   }
// After:
//   %end = min(64, %i + 15 + 1), %inside = min(%end, %i + 1)
//   %part = scf.for %k = 0 to %inside iter_args(%acc = %zero) { ... arith.addf %acc, %a ... }
//   %sum = scf.for %k = %inside to %end iter_args(%acc = %part) { ... as before ... }
//
// Half of a triangle is left out, and most of what remains is computed without its condition, which
// takes longer than the arithmetic. A condition that bounds the loop from below is treated alike.
// Loops whose condition is not a comparison of sums of indices stay as they are.
#include "target/cpu/Passes.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUBOUNDLOOPSPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// The operand of operations that only place elements elsewhere.
Value unplaced(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<vector::BroadcastOp, vector::TransposeOp, vector::ShapeCastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool isConstant(Value value, llvm::function_ref<bool(const APFloat &)> isFloat,
                llvm::function_ref<bool(const APInt &)> isInteger) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return isFloat(number.getValue());
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && isInteger(number.getValue());
}

/// Whether combining with the value changes nothing. A sum that begins with 0 is never -0.
bool isNeutral(vector::CombiningKind kind, Value value) {
  using Kind = vector::CombiningKind;
  switch (kind) {
  case Kind::ADD:
    return isConstant(
        value, [](auto &x) { return x.isZero(); }, [](auto &x) { return x.isZero(); });
  case Kind::MUL:
    return isConstant(
        value, [](auto &x) { return x.isExactlyValue(1); }, [](auto &x) { return x.isOne(); });
  case Kind::MAXIMUMF:
    return isConstant(
        value, [](auto &x) { return x.isInfinity() && x.isNegative(); },
        [](auto &) { return false; });
  case Kind::MINIMUMF:
    return isConstant(
        value, [](auto &x) { return x.isInfinity() && !x.isNegative(); },
        [](auto &) { return false; });
  case Kind::MAXSI:
    return isConstant(
        value, [](auto &) { return false; }, [](auto &x) { return x.isMinSignedValue(); });
  case Kind::MINSI:
    return isConstant(
        value, [](auto &) { return false; }, [](auto &x) { return x.isMaxSignedValue(); });
  default:
    return false;
  }
}

std::optional<vector::CombiningKind> kindOf(Operation *op) {
  using Kind = vector::CombiningKind;
  return llvm::TypeSwitch<Operation *, std::optional<Kind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Kind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Kind::MUL; })
      .Case([](arith::MaximumFOp) { return Kind::MAXIMUMF; })
      .Case([](arith::MinimumFOp) { return Kind::MINIMUMF; })
      .Case([](arith::MaxSIOp) { return Kind::MAXSI; })
      .Case([](arith::MinSIOp) { return Kind::MINSI; })
      .Case([](vector::MultiDimReductionOp reduction) { return reduction.getKind(); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The select by whose condition an accumulator stays as it is, in all elements for which the
/// condition does not hold; null if there is none.
arith::SelectOp maskOf(Value yielded, Value accumulator) {
  Operation *op = yielded.getDefiningOp();
  if (!op)
    return {};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return select.getFalseValue() == accumulator ? select : arith::SelectOp();
  std::optional<vector::CombiningKind> kind = kindOf(op);
  if (!kind || op->getNumOperands() != 2 || !llvm::is_contained(op->getOperands(), accumulator))
    return {};
  Value other = op->getOperand(op->getOperand(0) == accumulator ? 1 : 0);
  auto select = unplaced(other).getDefiningOp<arith::SelectOp>();
  return select && isNeutral(*kind, unplaced(select.getFalseValue())) ? select : arith::SelectOp();
}

/// Numbers that depend on a loop: `factor` times its variable, and from `least` to `most` on top,
/// which are known before the loop.
struct Term {
  int64_t factor = 0;
  Value least, most;
};

/// Finds terms; what they need is computed where the builder stands.
class Terms {
public:
  Terms(scf::ForOp loop, OpBuilder &b) : loop(loop), b(b), loc(loop.getLoc()) {}

  std::optional<Term> of(Value value) {
    if (value == loop.getInductionVar())
      return Term{1, constant(0), constant(0)};
    Attribute attribute;
    if (matchPattern(value, m_Constant(&attribute)))
      return ofConstant(attribute);
    Type element = getElementTypeOrSelf(value.getType());
    if (!element.isIndex() && !element.isInteger(64))
      return std::nullopt;
    bool isScalar = !isa<ShapedType>(value.getType());
    if (isScalar && loop.isDefinedOutsideOfLoop(value)) {
      Value index = element.isIndex()
                        ? value
                        : b.create<arith::IndexCastOp>(loc, b.getIndexType(), value).getResult();
      return Term{0, index, index};
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (isa<vector::BroadcastOp, vector::TransposeOp, vector::ShapeCastOp, arith::IndexCastOp>(op))
      return of(op->getOperand(0));
    if (isa<arith::AddIOp>(op))
      return sum(of(op->getOperand(0)), of(op->getOperand(1)));
    if (isa<arith::SubIOp>(op))
      return sum(of(op->getOperand(0)), negative(of(op->getOperand(1))));
    if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
      return ofExpression(apply.getAffineMap().getResult(0), apply);
    return std::nullopt;
  }

  Value constant(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value subtract(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }

  std::optional<Term> sum(const std::optional<Term> &x, const std::optional<Term> &y) {
    if (!x || !y)
      return std::nullopt;
    return Term{x->factor + y->factor, add(x->least, y->least), add(x->most, y->most)};
  }
  std::optional<Term> negative(const std::optional<Term> &x) {
    if (!x)
      return std::nullopt;
    return Term{-x->factor, subtract(constant(0), x->most), subtract(constant(0), x->least)};
  }

private:
  std::optional<Term> ofConstant(Attribute attribute) {
    if (auto number = dyn_cast<IntegerAttr>(attribute)) {
      Value value = constant(number.getInt());
      return Term{0, value, value};
    }
    auto numbers = dyn_cast<DenseIntElementsAttr>(attribute);
    if (!numbers || numbers.empty())
      return std::nullopt;
    int64_t least = std::numeric_limits<int64_t>::max();
    int64_t most = std::numeric_limits<int64_t>::min();
    for (const APInt &number : numbers.getValues<APInt>()) {
      least = std::min(least, number.getSExtValue());
      most = std::max(most, number.getSExtValue());
    }
    return Term{0, constant(least), constant(most)};
  }

  std::optional<Term> ofExpression(AffineExpr expr, affine::AffineApplyOp apply) {
    if (auto number = dyn_cast<AffineConstantExpr>(expr))
      return Term{0, constant(number.getValue()), constant(number.getValue())};
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return of(apply.getDimOperands()[dim.getPosition()]);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return of(apply.getSymbolOperands()[symbol.getPosition()]);
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return std::nullopt;
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (expr.getKind() == AffineExprKind::Add)
      return sum(ofExpression(binary.getLHS(), apply), ofExpression(binary.getRHS(), apply));
    if (expr.getKind() == AffineExprKind::Mul && factor && factor.getValue() == -1)
      return negative(ofExpression(binary.getLHS(), apply));
    return std::nullopt;
  }

  scf::ForOp loop;
  OpBuilder &b;
  Location loc;
};

/// The comparisons all of which hold if the condition does.
void addComparisons(Value condition, SmallVectorImpl<arith::CmpIOp> &found) {
  Operation *op = unplaced(condition).getDefiningOp();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
    addComparisons(both.getLhs(), found);
    addComparisons(both.getRhs(), found);
  } else if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op)) {
    found.push_back(comparison);
  }
}

class LoopBounds {
public:
  explicit LoopBounds(scf::ForOp loop)
      : loop(loop), b(loop), loc(loop.getLoc()), terms(loop, b), begin(loop.getLowerBound()),
        end(loop.getUpperBound()) {}

  void run() {
    arith::SelectOp mask = onlyMask();
    if (!mask)
      return;
    SmallVector<arith::CmpIOp> comparisons;
    addComparisons(mask.getCondition(), comparisons);
    bool isAll = comparisons.size() == 1 && unplaced(mask.getCondition()) == comparisons.front();
    for (arith::CmpIOp comparison : comparisons)
      bound(comparison);
    if (!isBounded)
      return;
    if (isAll && inside)
      split(mask);
    loop.getLowerBoundMutable().assign(begin);
    loop.getUpperBoundMutable().assign(end);
  }

private:
  /// The select that keeps all accumulators as they are; null if there is none.
  arith::SelectOp onlyMask() {
    if (!isMemoryEffectFree(loop) || loop.getNumResults() == 0 ||
        !loop.getInductionVar().getType().isIndex())
      return {};
    arith::SelectOp only;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [yielded, accumulator] : llvm::zip(yield.getOperands(), loop.getRegionIterArgs())) {
      arith::SelectOp mask = maskOf(yielded, accumulator);
      if (!mask || (only && mask.getCondition() != only.getCondition()))
        return {};
      only = mask;
    }
    return only;
  }

  /// x <= y, as a bound of the loop.
  void bound(arith::CmpIOp comparison) {
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = comparison.getPredicate();
    bool isSwapped = predicate == Predicate::sge || predicate == Predicate::sgt;
    bool isStrict = predicate == Predicate::slt || predicate == Predicate::sgt;
    if (!isSwapped && predicate != Predicate::sle && predicate != Predicate::slt)
      return;
    Value x = isSwapped ? comparison.getRhs() : comparison.getLhs();
    Value y = isSwapped ? comparison.getLhs() : comparison.getRhs();
    // x - y, which must not be more than 0.
    std::optional<Term> difference = terms.sum(terms.of(x), terms.negative(terms.of(y)));
    if (!difference || (difference->factor != 1 && difference->factor != -1))
      return;
    if (isStrict) {
      Value one = terms.constant(1);
      difference->least = terms.add(difference->least, one);
      difference->most = terms.add(difference->most, one);
    }
    isBounded = true;
    Value zero = terms.constant(0), one = terms.constant(1);
    isFromAbove = difference->factor == 1;
    if (isFromAbove) {
      // Up to -least some elements are in, up to -most all.
      end = smaller(end, terms.add(terms.subtract(zero, difference->least), one));
      inside = terms.add(terms.subtract(zero, difference->most), one);
    } else {
      begin = larger(begin, aligned(difference->least, /*down=*/true));
      inside = difference->most;
    }
  }

  /// Iterations for which all elements are in get a loop of their own, without the condition.
  void split(arith::SelectOp mask) {
    auto unmasked = cast<scf::ForOp>(b.clone(*loop.getOperation(), mapping));
    auto select = cast<arith::SelectOp>(mapping.lookup(mask.getResult()).getDefiningOp());
    Value middle = isFromAbove ? smaller(larger(aligned(inside, /*down=*/true), begin), end)
                               : larger(begin, smaller(aligned(inside, /*down=*/false), end));
    // Bounds are computed before both loops.
    unmasked->moveBefore(loop);
    for (Operation &op : llvm::make_early_inc_range(*unmasked.getBody()))
      if (auto other = dyn_cast<arith::SelectOp>(op);
          other && other.getCondition() == select.getCondition()) {
        other.replaceAllUsesWith(other.getTrueValue());
        other.erase();
      }
    if (isFromAbove) {
      unmasked.getLowerBoundMutable().assign(begin);
      unmasked.getUpperBoundMutable().assign(middle);
      loop.getInitArgsMutable().assign(unmasked.getResults());
      begin = middle;
      return;
    }
    unmasked->moveAfter(loop);
    loop.getResults().replaceAllUsesWith(unmasked.getResults());
    unmasked.getInitArgsMutable().assign(loop.getResults());
    unmasked.getLowerBoundMutable().assign(middle);
    unmasked.getUpperBoundMutable().assign(end);
    end = middle;
  }

  Value smaller(Value x, Value y) { return b.create<arith::MinSIOp>(loc, x, y); }
  Value larger(Value x, Value y) { return b.create<arith::MaxSIOp>(loc, x, y); }
  /// The nearest iteration of the loop: the loop's steps count from its first one.
  Value aligned(Value place, bool down) {
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    if (step == 1)
      return place;
    Value first = loop.getLowerBound(), width = loop.getStep();
    Value distance = larger(terms.subtract(place, first), terms.constant(0));
    Value steps = down ? b.create<arith::DivUIOp>(loc, distance, width).getResult()
                       : b.create<arith::CeilDivUIOp>(loc, distance, width).getResult();
    return terms.add(first, b.create<arith::MulIOp>(loc, steps, width));
  }

  scf::ForOp loop;
  OpBuilder b;
  Location loc;
  Terms terms;
  IRMapping mapping;
  Value begin, end;
  Value inside; // from above, where the first part ends; from below, where the second one begins
  bool isBounded = false, isFromAbove = false;
};

struct CpuBoundLoopsPass : impl::CpuBoundLoopsPassBase<CpuBoundLoopsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      LoopBounds(loop).run();
  }
};

} // namespace
} // namespace headrace
