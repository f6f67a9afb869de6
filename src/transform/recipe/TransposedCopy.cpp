#include "transform/recipe/TransposedCopy.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace headrace {
namespace {

/// Rows of a square: half a line, which every CPU with vectors to speak of has shuffles for.
constexpr int64_t kRowBits = 8 * 32;

class SquareCopier {
public:
  SquareCopier(RewriterBase &rewriter, linalg::GenericOp copy, int64_t side)
      : rewriter(rewriter), copy(copy), side(side), loc(copy.getLoc()),
        maps(copy.getIndexingMapsArray()), ranges(copy.getStaticLoopRanges()),
        position(ranges.size()) {}

  Value run() {
    rewriter.setInsertionPoint(copy);
    return loopOver(0, copy.getDpsInits().front());
  }

private:
  bool isInSquare(int64_t dim) const {
    return dim + 1 == static_cast<int64_t>(ranges.size()) ||
           maps[0].getResults().back() == rewriter.getAffineDimExpr(dim);
  }

  Value loopOver(int64_t dim, Value into) {
    if (dim == static_cast<int64_t>(ranges.size()))
      return copySquare(into);
    auto number = [&](int64_t value) {
      return rewriter.create<arith::ConstantIndexOp>(loc, value).getResult();
    };
    int64_t step = isInSquare(dim) ? side : 1;
    if (ranges[dim] == step) {
      position[dim] = rewriter.getIndexAttr(0);
      return loopOver(dim + 1, into);
    }
    auto loop =
        rewriter.create<scf::ForOp>(loc, number(0), number(ranges[dim]), number(step), into);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    position[dim] = loop.getInductionVar();
    if (ranges[dim] % step != 0) {
      AffineExpr d0 = rewriter.getAffineDimExpr(0);
      AffineExpr last = rewriter.getAffineConstantExpr(ranges[dim] - step);
      position[dim] = affine::makeComposedFoldedAffineMin(
          rewriter, loc, AffineMap::get(1, 0, {d0, last}, rewriter.getContext()), {position[dim]});
    }
    Value result = loopOver(dim + 1, loop.getRegionIterArg(0));
    rewriter.create<scf::YieldOp>(loc, result);
    return loop.getResult(0);
  }

  struct Part {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };
  Part partOf(AffineMap map) const {
    Part part;
    for (AffineExpr expr : map.getResults()) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      part.offsets.push_back(position[dim]);
      part.sizes.push_back(rewriter.getIndexAttr(isInSquare(dim) ? side : 1));
      part.strides.push_back(rewriter.getIndexAttr(1));
    }
    return part;
  }

  Value copySquare(Value into) {
    Part read = partOf(maps[0]), written = partOf(maps[1]);
    Value from = rewriter.create<tensor::ExtractSliceOp>(loc, copy.getInputs().front(),
                                                         read.offsets, read.sizes, read.strides);
    Value to = rewriter.create<tensor::ExtractSliceOp>(loc, into, written.offsets, written.sizes,
                                                       written.strides);
    auto square = cast<linalg::GenericOp>(rewriter.clone(*copy));
    rewriter.modifyOpInPlace(square, [&] {
      square.getInputsMutable().assign(from);
      square.getOutputsMutable().assign(to);
      square->getResult(0).setType(cast<RankedTensorType>(to.getType()));
    });
    return rewriter.create<tensor::InsertSliceOp>(loc, square->getResult(0), into, written.offsets,
                                                  written.sizes, written.strides);
  }

  RewriterBase &rewriter;
  linalg::GenericOp copy;
  int64_t side;
  Location loc;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> ranges;
  SmallVector<OpFoldResult> position; // of the square, along each loop
};

} // namespace

bool copyInSquares(RewriterBase &rewriter, linalg::GenericOp copy) {
  SmallVector<AffineMap> maps = copy.getIndexingMapsArray();
  SmallVector<int64_t> ranges = copy.getStaticLoopRanges();
  Type element = getElementTypeOrSelf(copy.getResult(0).getType());
  if (maps.size() != 2 || !maps[0].isPermutation() || !maps[1].isIdentity() ||
      !element.isIntOrFloat())
    return false;
  unsigned last = copy.getNumLoops() - 1, bits = element.getIntOrFloatBitWidth();
  unsigned across = cast<AffineDimExpr>(maps[0].getResults().back()).getPosition();
  bool areKnown = llvm::none_of(ranges, ShapedType::isDynamic);
  if (across == last || (bits != 32 && bits != 64) || !areKnown ||
      std::min(ranges[across], ranges[last]) * bits < kRowBits)
    return false;
  rewriter.replaceOp(copy, SquareCopier(rewriter, copy, kRowBits / bits).run());
  return true;
}

} // namespace headrace
