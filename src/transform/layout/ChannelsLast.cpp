// Puts the channels of images last.
//
//   %c = hr.conv channels_first %x, %w : (tensor<1x3x8x8xf32>, ...) -> tensor<1x4x8x8xf32>
//   %r = hr.map(%c) { relu }
//   %d = hr.conv channels_first %r, %v
// becomes
//   %t = hr.transpose %x [0, 2, 3, 1]
//   %c = hr.conv channels_last %t, transposed %w : (tensor<1x8x8x3xf32>, ...) -> ...
//   %r = hr.map(%c) { relu }
//   %d = hr.conv channels_last %r, transposed %v
//   %y = hr.transpose %d [0, 3, 1, 2]
//
// Convolutions, poolings and normalizations are converted; operators between them (maps, pads,
// concatenations, reductions, slices, ...) work in either layout, and get the one that leaves the
// least data to transpose: a minimum cut (LayoutGraph.cpp). Transposes of constants are left to
// fold-constants.
//
// Why: vectors run over channels, which are many and contiguous, instead of over rows of odd
// length. When it hurts: a convolution of few channels amid operators that need channels first pays
// two transposes.
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"
#include "transform/choices/Verbs.h"
#include "transform/common/Patterns.h"
#include "transform/layout/BlockChannels.h"
#include "transform/layout/LayoutGraph.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {

#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "transform/Passes.h.inc"

namespace {

/// Rebuilds the chosen operators of a block channels last, with transposes where layouts meet.
class LayoutRewriter {
public:
  LayoutRewriter(Block &block, const llvm::DenseMap<Operation *, LayoutRole> &chosen)
      : block(block), chosen(chosen), builder(block.getParentOp()->getContext()) {}

  void run() {
    SmallVector<Operation *> replaced;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (chosen.contains(&op)) {
        rebuild(&op);
        replaced.push_back(&op);
      } else {
        for (OpOperand &operand : op.getOpOperands())
          operand.set(asWritten(operand.get()));
      }
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

  /// The value channels first, as the program has it.
  Value asWritten(Value value) {
    Operation *producer = value.getDefiningOp();
    if (!producer || !chosen.contains(producer))
      return value;
    Value &first = firstOf[value];
    if (!first) {
      Value last = lastOf.at(value);
      builder.setInsertionPointAfterValue(last);
      first =
          transposed(builder, last.getLoc(), last, inverse(channelsLastPermutation(rankOf(value))));
    }
    return first;
  }

  /// The value channels last, seen as an image of `rank` dimensions; used by `user`.
  Value channelsLast(Value value, int64_t rank, Operation *user) {
    if (rankOf(value) < rank) {
      builder.setInsertionPoint(user);
      Value image = withRank(builder, user->getLoc(), asWritten(value), rank);
      return transposed(builder, user->getLoc(), image, channelsLastPermutation(rank));
    }
    Value &last = lastOf[value];
    if (!last) {
      builder.setInsertionPointAfterValue(value);
      last = transposed(builder, user->getLoc(), value, channelsLastPermutation(rank));
    }
    return last;
  }

  void rebuild(Operation *op) {
    Value result = op->getResult(0);
    if (auto transpose = dyn_cast<hr::TransposeOp>(op))
      return replaceTranspose(transpose);
    int64_t rank = isa<hr::MapOp, hr::BroadcastOp>(op) ? rankOf(result) : rankOf(op->getOperand(0));
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(cast<hr::OperatorInterface>(op).isImageOperand(operand.getOperandNumber())
                             ? channelsLast(operand.get(), rank, op)
                             : asWritten(operand.get()));
    builder.setInsertionPoint(op);
    if (isa<hr::ConvOp>(op))
      operands[1] = transposedFilter(op->getLoc(), operands[1]);
    Operation *moved = builder.clone(*op);
    moved->setOperands(operands);
    cast<hr::OperatorInterface>(moved).permute(channelsLastPermutation(rank));
    if (isa<hr::ConvFilterOp>(op)) {
      result.replaceAllUsesWith(filterAsWritten(moved));
      return;
    }
    if (!chosen.at(op).resultIsImage) {
      result.replaceAllUsesWith(moved->getResult(0));
      return;
    }
    auto type = cast<RankedTensorType>(result.getType());
    moved->getResult(0).setType(
        tensorType(permuted(ArrayRef<AffineExpr>(shapeOf(type)), channelsLastPermutation(rank)),
                   type.getElementType()));
    lastOf[result] = moved->getResult(0);
  }

  /// Replaces a transpose between the layouts: its operand and its result are available in both.
  void replaceTranspose(hr::TransposeOp op) {
    if (chosen.at(op).resultIsImage)
      lastOf[op.getResult()] = asWritten(op.getInput());
    else
      op.getResult().replaceAllUsesWith(channelsLast(op.getInput(), rankOf(op.getInput()), op));
  }

  /// [F, C, window...] -> [window..., C, F]
  Value transposedFilter(Location loc, Value filter) {
    return transposed(builder, loc, filter, filterPermutation(rankOf(filter)));
  }

  static Permutation filterPermutation(int64_t rank) {
    Permutation permutation = llvm::to_vector(llvm::seq<int64_t>(2, rank));
    permutation.append({1, 0});
    return permutation;
  }

  /// An operator that yields a filter channels last; the filter as the program has it.
  Value filterAsWritten(Operation *op) {
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    Permutation permutation = filterPermutation(type.getRank());
    result.setType(tensorType(permuted(ArrayRef<AffineExpr>(shapeOf(type)), permutation),
                              type.getElementType()));
    builder.setInsertionPointAfter(op);
    return transposed(builder, op->getLoc(), result, inverse(permutation));
  }

  Block &block;
  const llvm::DenseMap<Operation *, LayoutRole> &chosen;
  OpBuilder builder;
  llvm::DenseMap<Value, Value> firstOf, lastOf;
};

struct ChannelsLastPass : impl::ChannelsLastPassBase<ChannelsLastPass> {
  void runOnOperation() override {
    if (!getOperation().getBody().hasOneBlock())
      return;
    Block &block = getOperation().getBody().front();
    llvm::DenseMap<Operation *, LayoutRole> chosen;
    {
      Choices choices(getOperation());
      chosen = chooseChannelsLast(block, choices);
      choices.finish({verbs::layout.name});
    }
    LayoutRewriter(block, chosen).run();
    blockChannels(getOperation());
    RewritePatternSet patterns(&getContext());
    populateMovementSimplifications(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
