// Level 1: convolutions much of whose window is in padding, part by part of their result.
//
//   %y = hr.conv %x, %w {dilations = [12], pads = [12, 12]}     // 14 elements, a window of 3
// becomes
//   %a = hr.conv (%x from 0 on), (%w from 1 on) {dilations = [12], pads = [0, 0]}    // 2 results
//   %b = hr.conv (%x from 2 on), (%w from 1 on) {dilations = [12], pads = [0, 0]}    // 10, one tap
//   %c = hr.conv (%x from 0 on), (%w from 0 on) {dilations = [12], pads = [0, 0]}    // 2
//   %y = hr.concat %a, %b, %c
//
// one spatial dimension after the other. All results of a part read the image under the same taps,
// and no padding.
//
// Why: products with padding are half of all, and more, if windows are dilated by nearly the
// size of the image, as in networks that segment images.
// When it hurts: parts are kernels of their own, and joined in another; so it is done only if it
// saves a good part of many products.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "target/cpu/Passes.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUSPLITWINDOWSPASS
#include "target/cpu/Passes.h.inc"

namespace {

constexpr double kWorthwhilePart = 0.25;          // of the products are saved
constexpr double kWorthwhileProducts = 128 << 10; // of an image, for a part more

/// Neighbouring results that read the image under the same taps.
struct Part {
  int64_t begin, end, firstTap, endTap;
};

/// A window along one spatial dimension of an image of known size.
struct Sliding {
  int64_t size, outputs, window, stride, dilation, low;

  /// Nothing if a result reads padding alone.
  std::optional<SmallVector<Part>> parts() const {
    SmallVector<Part> parts;
    for (int64_t output = 0; output < outputs; ++output) {
      int64_t start = output * stride - low;
      int64_t first = std::max<int64_t>(0, llvm::divideCeilSigned(-start, dilation));
      int64_t end = std::min(window, llvm::divideCeilSigned(size - start, dilation));
      if (first >= end)
        return std::nullopt;
      if (parts.empty() || parts.back().firstTap != first || parts.back().endTap != end)
        parts.push_back({output, output, first, end});
      ++parts.back().end;
    }
    return parts;
  }
};

/// `size` elements of a dimension of a value.
Value partOf(OpBuilder &b, Location loc, Value value, size_t dim, int64_t start, int64_t size) {
  SymbolicShape shape = shapeOf(value);
  SmallVector<AffineExpr> starts(shape.size(), constantDim(0, b.getContext()));
  starts[dim] = constantDim(start, b.getContext());
  shape[dim] = constantDim(size, b.getContext());
  auto type = tensorType(shape, getElementTypeOrSelf(value));
  if (type == value.getType())
    return value;
  return b.create<hr::SliceOp>(loc, type, value, symbolMap(starts, b.getContext()),
                               SmallVector<int64_t>(shape.size(), 1));
}

struct SplitConv : OpRewritePattern<hr::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConvOp op, PatternRewriter &rewriter) const override {
    for (size_t dim = 0; dim < op.getStrides().size(); ++dim) {
      std::optional<Sliding> sliding = slidingAlong(op, dim);
      std::optional<SmallVector<Part>> parts = sliding ? sliding->parts() : std::nullopt;
      if (!parts || !pays(op, *sliding, *parts))
        continue;
      SmallVector<Value> results;
      for (const Part &part : *parts)
        results.push_back(convolvePart(rewriter, op, dim, *sliding, part));
      rewriter.replaceOpWithNewOp<hr::ConcatOp>(op, results, imageDim(op, dim));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "reads the image under most taps");
  }

private:
  static size_t imageDim(hr::ConvOp op, size_t dim) {
    return dim + (op.getLayout() == hr::ChannelLayout::First ? 2 : 1);
  }
  static size_t filterDim(hr::ConvOp op, size_t dim) {
    return dim + (op.getLayout() == hr::ChannelLayout::First ? 2 : 0);
  }

  static std::optional<Sliding> slidingAlong(hr::ConvOp op, size_t dim) {
    auto size = constantValue(shapeOf(op.getInput())[imageDim(op, dim)]);
    auto outputs = constantValue(shapeOf(op.getResult())[imageDim(op, dim)]);
    auto window = constantValue(shapeOf(op.getFilter())[filterDim(op, dim)]);
    int64_t low = op.getPads()[dim], high = op.getPads()[op.getStrides().size() + dim];
    if (!size || !outputs || !window || *outputs < 2 || (low <= 0 && high <= 0))
      return std::nullopt;
    return Sliding{*size, *outputs, *window, op.getStrides()[dim], op.getDilations()[dim], low};
  }

  /// Whether parts save enough products of an image; dynamic dimensions count as 1.
  static bool pays(hr::ConvOp op, const Sliding &sliding, ArrayRef<Part> parts) {
    double all = 1, left = 0;
    for (AffineExpr size : op.getMovement().domain)
      all *= static_cast<double>(constantValue(size).value_or(1));
    for (const Part &part : parts)
      left += static_cast<double>((part.end - part.begin) * (part.endTap - part.firstTap));
    double saved = 1 - left / static_cast<double>(sliding.outputs * sliding.window);
    return saved >= kWorthwhilePart &&
           saved * all >= kWorthwhileProducts * static_cast<double>(parts.size() - 1);
  }

  static Value convolvePart(OpBuilder &b, hr::ConvOp op, size_t dim, const Sliding &sliding,
                            const Part &part) {
    int64_t taps = part.endTap - part.firstTap;
    int64_t start = part.begin * sliding.stride - sliding.low + part.firstTap * sliding.dilation;
    int64_t size = (part.end - part.begin - 1) * sliding.stride + (taps - 1) * sliding.dilation + 1;
    Value image = partOf(b, op.getLoc(), op.getInput(), imageDim(op, dim), start, size);
    Value filter = partOf(b, op.getLoc(), op.getFilter(), filterDim(op, dim), part.firstTap, taps);
    SmallVector<int64_t> pads(op.getPads());
    pads[dim] = pads[op.getStrides().size() + dim] = 0;
    return b.create<hr::ConvOp>(op.getLoc(), image, filter, op.getStrides(), op.getDilations(),
                                pads, op.getGroups(), op.getLayout(), op.getAccumulatorAttr(),
                                op.getUnsignedInput(), op.getUnsignedFilter());
  }
};

struct CpuSplitWindowsPass : impl::CpuSplitWindowsPassBase<CpuSplitWindowsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitConv>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
