// Attention as its products and softmax, each computed as the target computes those.
#include "analysis/OperatorWork.h"
#include "target/expansion/Expansion.h"

using namespace mlir;

namespace headrace {
namespace {

class GeneratedAttention final : public Expansion {
public:
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<hr::AttentionOp>(op); }

  Work work(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::AttentionOp>(operation);
    SizeHints sizes = sizeHints(op);
    Work work = workOf(op, sizes);
    work.kernelCalls = 3;
    // Sums over a head's depth are short.
    auto depth = static_cast<double>(sizeHint(shapeOf(op.getQuery()).back(), sizes));
    auto lanes = static_cast<double>(machine.lanes(sizeof(float)));
    work.arithmetic.front().efficiency = RegisterTile{14, 2 * lanes, depth, lanes}.efficiency();
    // Scores are written, read, written as weights and read again.
    SymbolicShape scores = shapeOf(op.getQuery());
    scores.back() = shapeOf(op.getKey())[scores.size() - 2];
    double count = static_cast<double>(sizeHint(elementCount(scores, op.getContext()), sizes));
    double bytes = count * op.getType().getElementTypeBitWidth() / 8;
    work.move(4 * bytes, 2 * bytes);
    work.arithmetic.push_back({OperationKind::Elementary, rateType(op.getType()), count});
    return work;
  }

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
