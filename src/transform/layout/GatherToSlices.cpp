// Level 1: elements that are picked by known numbers, run after run, become slices.
//
// Before:
//   %i = hr.constant [27, 54, 55, 81, 82, 83]
//   %p = hr.gather %x, %i {axis = 1} : tensor<512x729xf32>, tensor<6xi64> -> tensor<512x6xf32>
//   %r = hr.concat %y, %p {axis = 1}
// After:
//   %r = hr.concat %y, %x[:, 27:28], %x[:, 54:56], %x[:, 81:84] {axis = 1}
//
// A gather along the last dimension reads a number and an element for each of its own; runs are
// copied as vectors. Short runs are left alone: a copy costs more than a few elements.
#include "dialect/ConstantData.h"
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_GATHERTOSLICESPASS
#include "transform/Passes.h.inc"

namespace {

constexpr size_t kMaxParts = 32; // of a join that is made: one kernel finds a place for each
constexpr int64_t kShortRun = 4; // elements that are as fast alone

struct Run {
  int64_t first, length;
};

/// The numbers as runs of neighbours; empty if they are too many, too short or out of range.
SmallVector<Run> runsOf(ElementsAttr numbers, int64_t size) {
  SmallVector<Run> runs;
  Tensor values = constantTensor(numbers);
  int64_t count = values.elements();
  auto number = [&](int64_t i) {
    int64_t value =
        values.dtype() == DType::I64 ? values.as<int64_t>()[i] : values.as<int32_t>()[i];
    return value < 0 ? value + size : value;
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = number(i);
    if (value < 0 || value >= size)
      return {};
    if (!runs.empty() && value == runs.back().first + runs.back().length)
      ++runs.back().length;
    else
      runs.push_back({value, 1});
    if (runs.size() > kMaxParts)
      return {};
  }
  if (count < kShortRun * static_cast<int64_t>(runs.size()))
    return {};
  return runs;
}

struct GatherToSlices : OpRewritePattern<hr::GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::GatherOp op, PatternRewriter &rewriter) const override {
    auto constant = op.getIndices().getDefiningOp<hr::ConstantOp>();
    SymbolicShape data = shapeOf(op.getData());
    std::optional<int64_t> size = constantValue(data.back());
    Type type = getElementTypeOrSelf(op.getIndices());
    if (!constant || cast<RankedTensorType>(constant.getType()).getRank() != 1 || !size ||
        op.getAxis() + 1 != data.size() || !(type.isInteger(64) || type.isInteger(32)))
      return rewriter.notifyMatchFailure(op,
                                         "does not gather elements of rows by constant indices");
    SmallVector<Run> runs = runsOf(constant.getValue(), *size);
    if (runs.empty())
      return rewriter.notifyMatchFailure(op, "does not gather a few contiguous runs");
    SmallVector<Value> parts;
    for (const Run &run : runs)
      parts.push_back(slice(rewriter, op, run));
    if (parts.size() == 1) {
      rewriter.replaceOp(op, parts.front());
      return success();
    }
    if (hr::ConcatOp join = joinOf(op);
        join && join.getInputs().size() + parts.size() <= kMaxParts) {
      SmallVector<Value> all;
      for (Value input : join.getInputs())
        if (input == op.getResult())
          llvm::append_range(all, parts);
        else
          all.push_back(input);
      rewriter.setInsertionPoint(join);
      rewriter.replaceOpWithNewOp<hr::ConcatOp>(join, all, join.getAxis());
      rewriter.eraseOp(op);
      return success();
    }
    rewriter.replaceOpWithNewOp<hr::ConcatOp>(op, parts, op.getAxis());
    return success();
  }

private:
  /// The join along the same axis that alone reads it.
  static hr::ConcatOp joinOf(hr::GatherOp op) {
    auto join = op->hasOneUse() ? dyn_cast<hr::ConcatOp>(*op->user_begin()) : hr::ConcatOp();
    return join && join.getAxis() == op.getAxis() ? join : hr::ConcatOp();
  }

  static Value slice(OpBuilder &b, hr::GatherOp op, const Run &run) {
    MLIRContext *context = op.getContext();
    SymbolicShape shape = shapeOf(op.getData());
    shape.back() = constantDim(run.length, context);
    SmallVector<AffineExpr> starts(shape.size(), constantDim(0, context));
    starts.back() = constantDim(run.first, context);
    SmallVector<int64_t> steps(shape.size(), 1);
    return b.create<hr::SliceOp>(op.getLoc(), tensorType(shape, getElementTypeOrSelf(op.getType())),
                                 op.getData(), AffineMapAttr::get(symbolMap(starts, context)),
                                 b.getDenseI64ArrayAttr(steps));
  }
};

struct GatherToSlicesPass : impl::GatherToSlicesPassBase<GatherToSlicesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<GatherToSlices>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
