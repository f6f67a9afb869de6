// Moves an inference-time normalization into the filter of the convolution before it.
//
//   %c = hr.conv %x, %w
//   %y = hr.batch_norm %c, %scale, %bias, %mean, %variance
// becomes
//   %f = hr.map(%scale, %variance) { scale / sqrt(variance + epsilon) }
//   %v = hr.map(%w, %f) { w * f }
//   %b = hr.map(%bias, %mean, %f) { bias - mean * f }
//   %c = hr.conv %x, %v
//   %y = hr.map(%c, %b) { c + b }
//
// A bias added between the two goes into %b as well: bias + (added - mean) * f. All but the last
// two lines are of constants, which fold-constants evaluates.
//
// Why: four operations per element of the image become one, and that one fuses.
// When it hurts: never at inference; the filter must not be shared in a way that keeps both copies
// alive, which is why the convolution must have no other user.
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"
#include "transform/choices/Choices.h"
#include "transform/choices/FusionDecision.h"
#include "transform/choices/Verbs.h"
#include "transform/common/OperatorBuilders.h"

using namespace mlir;

namespace headrace {

#define GEN_PASS_DEF_FOLDBATCHNORMPASS
#include "transform/Passes.h.inc"

namespace {

/// Where the channels stand in an image of this rank.
int64_t channelDim(hr::ChannelLayout layout, int64_t rank) {
  return layout == hr::ChannelLayout::First ? 1 : rank - 1;
}

/// Whether `value`, broadcast to an image of `rank`, holds one element per channel.
bool isPerChannel(Value value, hr::ChannelLayout layout, int64_t rank, AffineExpr channels) {
  SymbolicShape shape = shapeOf(value);
  int64_t position = channelDim(layout, rank) - (rank - static_cast<int64_t>(shape.size()));
  if (position < 0 || !sameSize(shape[position], channels))
    return false;
  shape.erase(shape.begin() + position);
  return llvm::all_of(shape, [](AffineExpr dim) { return constantValue(dim) == 1; });
}

/// A convolution and what is added to it per channel, if anything.
struct BiasedConv {
  hr::ConvOp conv;
  Value bias;
};

/// The body of a map that adds its two operands, nothing else.
bool addsItsInputs(hr::MapOp map) {
  Block &body = map.getBody().front();
  if (map.getInputs().size() != 2 || body.getOperations().size() != 2)
    return false;
  auto add = dyn_cast<arith::AddFOp>(body.front());
  return add && body.getTerminator()->getOperand(0) == add.getResult() &&
         isa<BlockArgument>(add.getLhs()) && isa<BlockArgument>(add.getRhs()) &&
         add.getLhs() != add.getRhs();
}

BiasedConv findConv(hr::BatchNormOp norm) {
  if (auto conv = norm.getInput().getDefiningOp<hr::ConvOp>())
    return {conv, {}};
  auto map = norm.getInput().getDefiningOp<hr::MapOp>();
  if (!map || !map->hasOneUse() || !addsItsInputs(map))
    return {};
  auto type = cast<RankedTensorType>(norm.getType());
  AffineExpr channels = shapeOf(norm.getScale())[0];
  for (int i : {0, 1}) {
    auto conv = map.getInputs()[i].getDefiningOp<hr::ConvOp>();
    Value bias = map.getInputs()[1 - i];
    if (conv && isKnown(bias) && conv.getType() == type &&
        isPerChannel(bias, norm.getLayout(), type.getRank(), channels))
      return {conv, bias};
  }
  return {};
}

class BatchNormFolder {
public:
  explicit BatchNormFolder(Choices &choices) : choices(choices) {}

  void visit(hr::BatchNormOp norm, RewriterBase &rewriter) {
    if (choices.wanted(verbs::leave, norm))
      return choices.note(verbs::leave, norm);
    auto [conv, bias] = findConv(norm);
    FusionDecision decision = canFold(norm, conv);
    std::optional<std::string> into = choices.wanted(verbs::fold, norm);
    if (into && decision && !choices.operators().means(*into, conv))
      decision = FusionDecision::no("it reads the result of another convolution");
    if (into && !decision)
      choices.refuse(verbs::fold, norm, decision.reason());
    if (decision)
      fold(norm, conv, bias, rewriter);
  }

private:
  static FusionDecision canFold(hr::BatchNormOp norm, hr::ConvOp conv) {
    if (!conv || !conv->hasOneUse() || conv.getLayout() != norm.getLayout())
      return FusionDecision::no("it does not follow a convolution that nothing else reads");
    if (!isKnown(conv.getFilter()))
      return FusionDecision::no("the filter is not constant");
    Type element = cast<RankedTensorType>(norm.getType()).getElementType();
    for (Value parameter : norm.getOperands().drop_front())
      if (!isKnown(parameter) ||
          cast<RankedTensorType>(parameter.getType()).getElementType() != element)
        return FusionDecision::no("its parameters are not constants of its type");
    return FusionDecision::yes();
  }

  void fold(hr::BatchNormOp norm, hr::ConvOp conv, Value bias, RewriterBase &rewriter) {
    rewriter.setInsertionPoint(norm);
    choices.note(verbs::fold, norm, choices.nameOf(conv));
    Location loc = norm.getLoc();
    Value factor = channelFactor(rewriter, norm);
    Value shift = channelShift(rewriter, norm, factor, bias);
    SymbolicShape channels = shapeOf(factor), beside = channels;
    if (norm.getLayout() == hr::ChannelLayout::First)
      beside.append(shapeOf(conv.getFilter()).size() - 2, rewriter.getAffineConstantExpr(1));
    // Features are the first dimension of a channels_first filter, the last of the other.
    SymbolicShape besideFilter = beside;
    if (norm.getLayout() == hr::ChannelLayout::First)
      besideFilter.push_back(rewriter.getAffineConstantExpr(1));
    Value filter = createMap(rewriter, conv.getLoc(),
                             {conv.getFilter(), reshaped(rewriter, loc, factor, besideFilter)},
                             [&](OpBuilder &b, ValueRange v) -> Value {
                               return b.create<arith::MulFOp>(loc, v[0], v[1]);
                             });
    Value image = rewriter.create<hr::ConvOp>(
        conv.getLoc(), conv.getInput(), filter, conv.getStrides(), conv.getDilations(),
        conv.getPads(), conv.getGroups(), conv.getLayout(), conv.getAccumulatorAttr());
    Operation *before = norm.getInput().getDefiningOp();
    rewriter.replaceOp(norm,
                       createMap(rewriter, loc, {image, reshaped(rewriter, loc, shift, beside)},
                                 [&](OpBuilder &b, ValueRange v) -> Value {
                                   return b.create<arith::AddFOp>(loc, v[0], v[1]);
                                 }));
    rewriter.eraseOp(before);
    if (before != conv)
      rewriter.eraseOp(conv);
  }

  /// scale / sqrt(variance + epsilon)
  static Value channelFactor(OpBuilder &builder, hr::BatchNormOp norm) {
    Location loc = norm.getLoc();
    return createMap(
        builder, loc, {norm.getScale(), norm.getVariance()},
        [&](OpBuilder &b, ValueRange v) -> Value {
          Value epsilon = b.create<arith::ConstantOp>(
              loc, b.getFloatAttr(v[1].getType(), norm.getEpsilon().convertToDouble()));
          Value shifted = b.create<arith::AddFOp>(loc, v[1], epsilon);
          return b.create<arith::DivFOp>(loc, v[0], b.create<math::SqrtOp>(loc, shifted));
        });
  }

  /// bias - mean * factor, or bias + (added - mean) * factor
  static Value channelShift(OpBuilder &builder, hr::BatchNormOp norm, Value factor, Value added) {
    Location loc = norm.getLoc();
    SmallVector<Value> inputs{norm.getBias(), norm.getMean(), factor};
    if (added)
      inputs.push_back(reshaped(builder, loc, added, shapeOf(factor)));
    return createMap(builder, loc, inputs, [&](OpBuilder &b, ValueRange v) -> Value {
      if (v.size() == 3)
        return b.create<arith::SubFOp>(loc, v[0], b.create<arith::MulFOp>(loc, v[1], v[2]));
      Value distance = b.create<arith::SubFOp>(loc, v[3], v[1]);
      return b.create<arith::AddFOp>(loc, v[0], b.create<arith::MulFOp>(loc, distance, v[2]));
    });
  }

  Choices &choices;
};

struct FoldBatchNormPass : impl::FoldBatchNormPassBase<FoldBatchNormPass> {
  void runOnOperation() override {
    Choices choices(getOperation());
    BatchNormFolder folder(choices);
    IRRewriter rewriter(&getContext());
    for (auto norm : llvm::make_early_inc_range(getOperation().getOps<hr::BatchNormOp>()))
      folder.visit(norm, rewriter);
    choices.finish({verbs::fold.name, verbs::leave.name});
  }
};

} // namespace
} // namespace headrace
