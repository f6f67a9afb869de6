// Attention as its products and softmax, each computed as the target computes those.
#include "target/expansion/Estimates.h"
#include "target/expansion/Expansion.h"

using namespace mlir;

namespace headrace {
namespace {

class GeneratedAttention final : public Expansion {
public:
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<hr::AttentionOp>(op); }

  double estimate(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::AttentionOp>(operation);
    // Scores are written, read, written as weights and read again; few of them stay in the caches.
    SymbolicShape scores = shapeOf(op.getQuery());
    scores.back() = shapeOf(op.getKey())[scores.size() - 2];
    double bytes = sizeOrGuess(elementCount(scores, op.getContext())) *
                   op.getType().getElementTypeBitWidth() / 8;
    double moved = bytes > kCachedBytes ? 4 * bytes : 0;
    return 2 * computeMicroseconds(op, machine, /*efficiency=*/0.9) + moved / kBytesPerMicrosecond;
  }

  /// Bytes that caches keep from one kernel to the next.
  static constexpr double kCachedBytes = 8 << 20;

  void rewrite(Operation *op, const Machine &, RewriterBase &rewriter) const override {
    rewriter.setInsertionPoint(op);
    rewriter.replaceOp(op, *cast<hr::OperatorInterface>(op).expand(rewriter));
  }
};

} // namespace

const Expansion &generatedAttention() {
  static const GeneratedAttention expansion;
  return expansion;
}

} // namespace headrace
