// Loops of our own on processors.
#include "analysis/MatrixProduct.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/expansion/Estimates.h"

using namespace mlir;

namespace headrace {
namespace {

bool isConstant(Value value) { return value.getDefiningOp<hr::ConstantOp>() != nullptr; }

/// Loops of our own: the result's last dimension in vectors, which the second operand must hold
/// contiguously. Constant operands are packed that way for nothing.
class GeneratedContraction final : public Expansion {
public:
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<hr::ContractOp>(op); }

  double estimate(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ContractOp>(operation);
    double microseconds = computeMicroseconds(op, machine, efficiencyOf(op));
    if (needsTranspose(op))
      microseconds += bytesOf(op.getRhs()) / kBytesPerMicrosecond;
    return microseconds;
  }

  void rewrite(Operation *operation, const Machine &, RewriterBase &rewriter) const override {
    auto op = cast<hr::ContractOp>(operation);
    if (featuresInFirstOperand(op))
      swapOperands(op, rewriter);
    if (needsTranspose(op))
      transposeSecondOperand(op, rewriter);
  }

private:
  /// The share of the machine's arithmetic that the loops reach. Register tiles need to know how
  /// many columns the result has, and how long the sums are; rows may be open.
  static double efficiencyOf(hr::ContractOp op) {
    Movement movement = op.getMovement();
    std::optional<unsigned> feature = featureDim(op);
    double efficiency = 0.9;
    for (auto [dim, size] : llvm::enumerate(movement.domain)) {
      if (constantValue(size))
        continue;
      if (feature == dim)
        return 0.03;
      if (!movement.maps[2].isFunctionOfDim(dim))
        efficiency = 0.1;
    }
    return efficiency;
  }

  static SmallVector<AffineMap> mapsOf(hr::ContractOp op) {
    auto maps = op.getMaps().getAsValueRange<AffineMapAttr>();
    return {maps.begin(), maps.end()};
  }
  static std::optional<unsigned> featureDim(hr::ContractOp op) {
    AffineMap result = mapsOf(op)[2];
    if (result.getNumResults() == 0)
      return std::nullopt;
    return cast<AffineDimExpr>(result.getResults().back()).getPosition();
  }
  static bool featuresInFirstOperand(hr::ContractOp op) {
    auto feature = featureDim(op);
    SmallVector<AffineMap> maps = mapsOf(op);
    return feature && maps[0].isFunctionOfDim(*feature) && !maps[1].isFunctionOfDim(*feature);
  }
  static bool needsTranspose(hr::ContractOp op) {
    auto feature = featureDim(op);
    AffineMap rhs = mapsOf(op)[featuresInFirstOperand(op) ? 0 : 1];
    Value operand = featuresInFirstOperand(op) ? op.getLhs() : op.getRhs();
    return feature && !isConstant(operand) && rhs.isFunctionOfDim(*feature) &&
           rhs.getResults().back() != getAffineDimExpr(*feature, op.getContext()) &&
           usesOf(op, operand).value_or(kFewUses) >
               4; // else moving it takes longer than the product
  }

  static void swapOperands(hr::ContractOp op, RewriterBase &rewriter) {
    SmallVector<AffineMap> maps = mapsOf(op);
    std::swap(maps[0], maps[1]);
    rewriter.modifyOpInPlace(op, [&] {
      Value lhs = op.getLhs();
      op.getLhsMutable().assign(op.getRhs());
      op.getRhsMutable().assign(lhs);
      bool isUnsigned = op.getUnsignedLhs();
      op.setUnsignedLhs(op.getUnsignedRhs());
      op.setUnsignedRhs(isUnsigned);
      op.setMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
  }

  static void transposeSecondOperand(hr::ContractOp op, RewriterBase &rewriter) {
    SmallVector<AffineMap> maps = mapsOf(op);
    AffineExpr feature = getAffineDimExpr(*featureDim(op), op.getContext());
    // Everything else keeps its order, so that what is summed over stays in order as well.
    SmallVector<int64_t> permutation;
    SmallVector<AffineExpr> exprs;
    for (auto [i, expr] : llvm::enumerate(maps[1].getResults()))
      if (expr != feature) {
        permutation.push_back(static_cast<int64_t>(i));
        exprs.push_back(expr);
      }
    permutation.push_back(llvm::find(maps[1].getResults(), feature) - maps[1].getResults().begin());
    exprs.push_back(feature);
    maps[1] = AffineMap::get(maps[1].getNumDims(), 0, exprs, op.getContext());
    rewriter.setInsertionPoint(op);
    Value transposed = rewriter.create<hr::TransposeOp>(op.getLoc(), op.getRhs(), permutation);
    rewriter.modifyOpInPlace(op, [&] {
      op.getRhsMutable().assign(transposed);
      op.setMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
  }
};

/// Loops of our own over the image itself.
class GeneratedConvolution final : public Expansion {
public:
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<hr::ConvOp>(op); }
  double estimate(Operation *op, const Machine &machine) const override {
    return computeMicroseconds(op, machine, /*efficiency=*/0.9);
  }
  void rewrite(Operation *, const Machine &, RewriterBase &) const override {}
};

} // namespace

const Expansion &generatedContractionOnCpu() {
  static const GeneratedContraction expansion;
  return expansion;
}

const Expansion &generatedConvolutionOnCpu() {
  static const GeneratedConvolution expansion;
  return expansion;
}

} // namespace headrace
