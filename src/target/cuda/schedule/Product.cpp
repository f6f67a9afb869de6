#include "target/cuda/schedule/Product.h"

#include "analysis/OperatorWork.h"
#include "dialect/scalar/HalfPrecision.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {
namespace {

/// A block argument behind conversions to a wider type.
BlockArgument argumentBehind(Value value) {
  while (auto wider = value.getDefiningOp<arith::ExtFOp>())
    value = wider.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// The body is acc + a * b.
bool multipliesAndAdds(linalg::GenericOp op) {
  auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  BlockArgument accumulator = op.getRegionOutputArgs().front();
  Value other = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto product = other.getDefiningOp<arith::MulFOp>();
  if (!product || (sum.getLhs() != accumulator && sum.getRhs() != accumulator))
    return false;
  BlockArgument x = argumentBehind(product.getLhs()), y = argumentBehind(product.getRhs());
  return x && y && x != y && x != accumulator && y != accumulator;
}

bool isSmallFloat(Value tensor) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  return element.isF32() || isHalf(element);
}

} // namespace

AffineExpr Product::size(ArrayRef<unsigned> loops) const {
  linalg::GenericOp generic = op;
  AffineExpr size = constantDim(1, generic.getContext());
  for (unsigned loop : loops)
    size = size * loopSize(generic, loop);
  return size;
}

int64_t Product::hintedSize(ArrayRef<unsigned> loops) const {
  return sizeHint(size(loops), sizeHints(op));
}

std::optional<Product> productOf(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 || !startOf(op) ||
      !multipliesAndAdds(op) || !isSmallFloat(op.getResult(0)))
    return std::nullopt;
  Product product{op, nullptr, nullptr, {}, {}, {}, {}};
  for (OpOperand *operand : op.getDpsInputOperands())
    if (!op.getMatchingBlockArgument(operand).use_empty()) {
      if (!isSmallFloat(operand->get()) || product.b)
        return std::nullopt;
      (product.a ? product.b : product.a) = operand;
    }
  if (!product.b)
    return std::nullopt;
  AffineMap result = op.getIndexingMapMatchingResult(op->getResult(0));
  AffineMap a = op.getMatchingIndexingMap(product.a), c = op.getMatchingIndexingMap(product.b);
  // The fastest dimension of the result is the product's column.
  if (result.getNumResults() > 0)
    if (auto last = dyn_cast<AffineDimExpr>(result.getResults().back());
        last && a.isFunctionOfDim(last.getPosition()) && !c.isFunctionOfDim(last.getPosition())) {
      std::swap(a, c);
      std::swap(product.a, product.b);
    }
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inA = a.isFunctionOfDim(loop), inB = c.isFunctionOfDim(loop);
    if (!loopSize(op, loop) || (!inA && !inB))
      return std::nullopt;
    if (kind == IteratorType::reduction)
      product.k.push_back(loop);
    else
      (inA && inB ? product.batch : inA ? product.m : product.n).push_back(loop);
  }
  if (product.m.empty() || product.n.empty())
    return std::nullopt;
  return product;
}

std::optional<FusedProduct> fusedProductOf(Operation *root) {
  Reads reads = readsOf(root, /*throughReductions=*/false);
  if (!reads.complete || reads.reductions.size() != 1)
    return std::nullopt;
  const Read &read = reads.reductions.front();
  auto product = productOf(cast<linalg::GenericOp>(read.value.getDefiningOp()));
  unsigned rank = cast<RankedTensorType>(root->getResult(0).getType()).getRank();
  if (!product || read.point.size() != rank)
    return std::nullopt;
  FusedProduct fused{*product, {}};
  llvm::SmallBitVector seen(rank);
  for (AffineExpr expr : read.point) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || dim.getPosition() >= rank || seen.test(dim.getPosition()))
      return std::nullopt;
    seen.set(dim.getPosition());
    fused.rootDims.push_back(dim.getPosition());
  }
  return fused;
}

} // namespace headrace::cuda
