// Gradients of contractions: contractions again.
#include "dialect/gradient/Builders.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

namespace {
struct Operand {
  Value value;
  AffineMap map;
};
} // namespace

/// The sum of products of `a` and `b` along the dimensions `wanted` names; dimensions that neither
/// has are repeated.
static Value contractTo(OpBuilder &b, Location loc, Operand a, Operand c, AffineMap wanted,
                        const SymbolicShape &shape) {
  MLIRContext *context = b.getContext();
  // Only dimensions of the operands can be walked.
  SmallVector<AffineExpr> renamed(wanted.getNumDims());
  unsigned used = 0;
  for (AffineMap map : {a.map, c.map})
    for (AffineExpr expr : map.getResults())
      if (AffineExpr &name = renamed[cast<AffineDimExpr>(expr).getPosition()]; !name)
        name = getAffineDimExpr(used++, context);
  auto rename = [&](AffineMap map, SymbolicShape *sizes) {
    SmallVector<AffineExpr> exprs;
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (AffineExpr name = renamed[cast<AffineDimExpr>(expr).getPosition()])
        exprs.push_back(name);
      else
        (*sizes)[i] = constantDim(1, context);
    return AffineMap::get(used, 0, exprs, context);
  };
  SymbolicShape computed = shape;
  AffineMap maps[] = {rename(a.map, nullptr), rename(c.map, nullptr), rename(wanted, &computed)};
  Value result =
      b.create<ContractOp>(loc, a.value, c.value, b.getAffineMapArrayAttr(maps), TypeAttr());
  return broadcast(b, loc, reshaped(b, loc, result, computed), shape);
}

Gradients ContractOp::gradient(OpBuilder &b, Value resultGradient) {
  auto range = getMaps().getAsValueRange<AffineMapAttr>();
  SmallVector<AffineMap> maps(range.begin(), range.end());
  Location loc = getLoc();
  // Gradients are computed in the type of the sums.
  Type wide = typeOf(getResult()).getElementType();
  Operand lhs{castTo(b, loc, getLhs(), wide), maps[0]};
  Operand rhs{castTo(b, loc, getRhs(), wide), maps[1]};
  Operand dy{resultGradient, maps[2]};
  Value dLhs = contractTo(b, loc, dy, rhs, lhs.map, shapeOf(getLhs()));
  Value dRhs = contractTo(b, loc, lhs, dy, rhs.map, shapeOf(getRhs()));
  return gradientsOf({castTo(b, loc, dLhs, typeOf(getLhs()).getElementType()),
                      castTo(b, loc, dRhs, typeOf(getRhs()).getElementType())});
}

} // namespace headrace::hr
