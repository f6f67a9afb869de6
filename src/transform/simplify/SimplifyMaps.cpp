// Maps with fewer operands: every operand of a map is read from memory once per element.
#include "dialect/ConstantData.h"
#include "dialect/SymbolicShape.h"
#include "dialect/scalar/StorageType.h"
#include "transform/common/OperatorBuilders.h"
#include "transform/common/Patterns.h"
#include "transform/simplify/ConstantMovement.h"

using namespace mlir;

namespace headrace {
namespace {

/// Whether the map keeps its shape without input `i`.
bool isDispensable(hr::MapOp map, size_t i) {
  SmallVector<Value> rest(map.getInputs());
  rest.erase(rest.begin() + i);
  return !rest.empty() && broadcastTo(rest, shapeOf(map.getResult()));
}

void dropInput(PatternRewriter &rewriter, hr::MapOp map, size_t i) {
  rewriter.modifyOpInPlace(map, [&] {
    map.getBody().front().eraseArgument(i);
    map->eraseOperand(i);
  });
}

/// Scalar arithmetic knows signless integers and plain floats; other numbers come as their bits.
Value scalarConstant(OpBuilder &b, Location loc, SplatElementsAttr splat) {
  Type element = splat.getElementType(), storage = storageType(element);
  if (storage == element)
    return b.create<arith::ConstantOp>(loc, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Tensor number = constantTensor(splat.resizeSplat(RankedTensorType::get({}, element)));
  auto stored = cast<DenseElementsAttr>(
      tensorAttribute(number.viewedAs(toDType(storage)), RankedTensorType::get({}, storage)));
  Value bits = b.create<arith::ConstantOp>(loc, cast<TypedAttr>(stored.getSplatValue<Attribute>()));
  return b.create<hr::BitsOp>(loc, element, bits);
}

/// map(x, splat 2) { x * v } = map(x) { x * 2 }.
struct InlineScalarConstant : OpRewritePattern<hr::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::MapOp map, PatternRewriter &rewriter) const override {
    for (auto [i, input] : llvm::enumerate(map.getInputs())) {
      auto constant = input.getDefiningOp<hr::ConstantOp>();
      if (!constant || !isDispensable(map, i))
        continue;
      SplatElementsAttr splat = asSplat(constant.getValue());
      if (!splat)
        continue;
      BlockArgument argument = map.getBody().front().getArgument(i);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(&map.getBody().front());
      Value scalar = scalarConstant(rewriter, map.getLoc(), splat);
      rewriter.replaceAllUsesWith(argument, scalar);
      dropInput(rewriter, map, i);
      return success();
    }
    return rewriter.notifyMatchFailure(map, "has no dispensable scalar constant");
  }
};

/// A map repeats its operands itself; one that a broadcast alone gives its size stays.
struct AbsorbBroadcast : OpRewritePattern<hr::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::MapOp map, PatternRewriter &rewriter) const override {
    for (auto [i, input] : llvm::enumerate(map.getInputs())) {
      auto broadcast = input.getDefiningOp<hr::BroadcastOp>();
      if (!broadcast)
        continue;
      SmallVector<Value> inputs(map.getInputs());
      inputs[i] = broadcast.getInput();
      if (!broadcastTo(inputs, shapeOf(map.getResult())))
        continue;
      rewriter.modifyOpInPlace(map, [&] { map->setOperand(i, broadcast.getInput()); });
      return success();
    }
    return rewriter.notifyMatchFailure(map, "has no operand broadcast to the others' shape");
  }
};

/// map(x, x) { a + b } = map(x) { a + a }.
struct MergeEqualInputs : OpRewritePattern<hr::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::MapOp map, PatternRewriter &rewriter) const override {
    Block &body = map.getBody().front();
    for (auto [i, input] : llvm::enumerate(map.getInputs()))
      for (size_t j = 0; j < i; ++j)
        if (map.getInputs()[j] == input) {
          rewriter.replaceAllUsesWith(body.getArgument(i), body.getArgument(j));
          dropInput(rewriter, map, i);
          return success();
        }
    return rewriter.notifyMatchFailure(map, "has different operands only");
  }
};

struct DropUnusedInput : OpRewritePattern<hr::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::MapOp map, PatternRewriter &rewriter) const override {
    for (BlockArgument argument : map.getBody().getArguments())
      if (argument.use_empty() && isDispensable(map, argument.getArgNumber())) {
        dropInput(rewriter, map, argument.getArgNumber());
        return success();
      }
    return rewriter.notifyMatchFailure(map, "uses every operand");
  }
};

/// map(x) { x } = x, or x broadcast.
struct ForwardInput : OpRewritePattern<hr::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::MapOp map, PatternRewriter &rewriter) const override {
    auto argument = dyn_cast<BlockArgument>(map.getBody().front().getTerminator()->getOperand(0));
    if (!argument)
      return rewriter.notifyMatchFailure(map, "computes its result");
    Value input = map.getInputs()[argument.getArgNumber()];
    if (input.getType() == map.getType())
      rewriter.replaceOp(map, input);
    else
      rewriter.replaceOpWithNewOp<hr::BroadcastOp>(map, map.getType(), input);
    return success();
  }
};

} // namespace

void populateMapSimplifications(RewritePatternSet &patterns) {
  // Before constants are inlined: one may be needed for its size once a broadcast is gone.
  patterns.add<AbsorbBroadcast>(patterns.getContext(), /*benefit=*/2);
  patterns.add<InlineScalarConstant, MergeEqualInputs, DropUnusedInput, ForwardInput>(
      patterns.getContext());
}

} // namespace headrace
