#include "dialect/gradient/Inversion.h"

#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace headrace::gradient {

Inversion::Inversion(ArrayRef<AffineExpr> domain, AffineMap map, const SymbolicShape &shape)
    : domain(domain), map(map), shape(shape), equations(domain.size()), known(domain.size()) {
  // First what needs no other position.
  for (bool plain : {true, false})
    for (auto [input, expr] : llvm::enumerate(map.getResults())) {
      if (isa<AffineDimExpr>(expr) != plain)
        continue;
      if (std::optional<unsigned> dim = unknownIn(expr))
        solve(input, *dim);
      else
        conditions.push_back(input);
    }
  llvm::append_range(sizes, shape);
  for (unsigned dim = 0; dim < domain.size(); ++dim)
    if (!equations[dim]) {
      known[dim] = getAffineDimExpr(sizes.size(), map.getContext());
      walked.push_back(dim);
      sizes.push_back(domain[dim]);
    }
}

/// The factor of a dimension in a linear expression.
std::optional<int64_t> Inversion::factorOf(AffineExpr expr, unsigned dim) const {
  SmallVector<int64_t> flat;
  if (failed(getFlattenedAffineExpr(expr, domain.size(), 0, &flat)) ||
      flat.size() != domain.size() + 1)
    return std::nullopt;
  return flat[dim];
}

/// The longest dimension that the expression can be solved for, and no other equation needs.
std::optional<unsigned> Inversion::unknownIn(AffineExpr expr) const {
  std::optional<unsigned> best;
  auto length = [&](unsigned dim) { return constantValue(domain[dim]).value_or(INT64_MAX); };
  for (unsigned dim = 0; dim < domain.size(); ++dim)
    if (!equations[dim] && !llvm::is_contained(needed, dim) &&
        factorOf(expr, dim).value_or(0) != 0 && (!best || length(dim) > length(*best)))
      best = dim;
  return best;
}

void Inversion::solve(unsigned input, unsigned dim) {
  AffineExpr expr = map.getResult(input), self = getAffineDimExpr(dim, map.getContext());
  int64_t factor = *factorOf(expr, dim);
  AffineExpr rest = simplifyAffineExpr(expr - self * factor, domain.size(), 0);
  equations[dim] = Equation{input, factor, rest};
  solved.push_back(dim);
  for (unsigned other = 0; other < domain.size(); ++other)
    if (rest.isFunctionOfDim(other))
      needed.push_back(other);
  if (expr == self && sameSize(shape[input], domain[dim]))
    known[dim] = getAffineDimExpr(input, map.getContext());
}

AffineMap Inversion::inverted(AffineMap operand) const {
  SmallVector<AffineExpr> replacements, exprs;
  for (auto [dim, expr] : llvm::enumerate(known)) {
    if (!expr && operand.isFunctionOfDim(dim))
      return {};
    replacements.push_back(expr ? expr : getAffineConstantExpr(0, map.getContext()));
  }
  for (AffineExpr expr : operand.getResults())
    exprs.push_back(expr.replaceDims(replacements));
  return AffineMap::get(sizes.size(), 0, exprs, map.getContext());
}

SmallVector<Value> Inversion::write(OpBuilder &b, Location loc, Value &valid) const {
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  // Nothing reads a position before it is found.
  SmallVector<Value> positions(domain.size(), zero);
  for (auto [i, dim] : llvm::enumerate(walked))
    positions[dim] = b.create<hr::IndexOp>(loc, shape.size() + i);
  auto require = [&](CmpIPredicate kind, Value a, Value c) {
    Value holds = b.create<arith::CmpIOp>(loc, kind, a, c);
    valid = valid ? b.create<arith::AndIOp>(loc, valid, holds).getResult() : holds;
  };
  for (unsigned dim : solved) {
    const Equation &equation = *equations[dim];
    Value p = b.create<hr::IndexOp>(loc, equation.dim);
    if (known[dim]) {
      positions[dim] = p;
      continue;
    }
    Value rest = affine::expandAffineExpr(b, loc, equation.rest, positions, {});
    Value factor = b.create<arith::ConstantIndexOp>(loc, equation.factor);
    Value difference = b.create<arith::SubIOp>(loc, p, rest);
    Value position = b.create<arith::DivSIOp>(loc, difference, factor);
    if (equation.factor != 1 && equation.factor != -1)
      require(CmpIPredicate::eq, b.create<arith::MulIOp>(loc, position, factor), difference);
    require(CmpIPredicate::sge, position, zero);
    require(CmpIPredicate::slt, position,
            b.create<hr::SizeOp>(loc, symbolMap({domain[dim]}, b.getContext())));
    positions[dim] = position;
  }
  for (unsigned input : conditions)
    require(CmpIPredicate::eq, b.create<hr::IndexOp>(loc, input),
            affine::expandAffineExpr(b, loc, map.getResult(input), positions, {}));
  return positions;
}

} // namespace headrace::gradient
