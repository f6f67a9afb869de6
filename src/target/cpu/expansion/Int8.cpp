// Products of 8-bit integers by our own routine, convolutions as such products. Before:
//   %c = hr.contract %a, %w maps [...] {accumulator = i32, unsigned_lhs} : (i8, i8) -> i32
// After:
//   %p = hr.constant ...  // the columns of %w in panels, with their sums
//   %c = hr.library "int8.packed_gemm" (%a, %p)
#include "dialect/ConstantData.h"
#include "runtime/library/ByteProduct.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/cpu/expansion/Patches.h"
#include "target/expansion/Estimates.h"
#include "target/expansion/LibraryContraction.h"
#include "transform/simplify/ConstantMovement.h"

using namespace mlir;

namespace headrace {
namespace {

/// Its speed in units of the arithmetic that estimates count with: one multiplication and addition
/// in single precision a cycle and lane.
double speed() { return bytes::bestKind() == bytes::Kind::DotProducts ? 6 : 2.5; }

template <class Product> bool isOfBytes(Product op) {
  return getElementTypeOrSelf(op.getType()).isSignlessInteger(32) &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return getElementTypeOrSelf(type).isSignlessInteger(8); });
}

class Int8Contraction final : public LibraryContraction {
public:
  StringRef name() const override { return "int8"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    return op && isOfBytes(op) && asMatrixProduct(op);
  }

  double estimate(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ContractOp>(operation);
    double packing = bytesOf(op.getLhs()) + (isPacked(op) ? 0 : bytesOf(op.getRhs()));
    return 1 + computeMicroseconds(op, machine, speed()) +
           (packing + unfusedBytes(op)) / kBytesPerMicrosecond;
  }

private:
  /// A constant that all products of the batch share lies in panels.
  static bool isPacked(hr::ContractOp op) {
    return op.getRhs().getDefiningOp<hr::ConstantOp>() && !asMatrixProduct(op)->batchedB;
  }

  StringRef routine(hr::ContractOp op) const override {
    return isPacked(op) ? "int8.packed_gemm" : "int8.gemm";
  }

  SmallVector<AffineExpr> furtherParameters(hr::ContractOp op) const override {
    return {constantDim(op.getUnsignedLhs(), op.getContext()),
            constantDim(op.getUnsignedRhs(), op.getContext())};
  }

  Value secondOperand(hr::ContractOp op, const MatrixProduct &p,
                      RewriterBase &rewriter) const override {
    if (!isPacked(op))
      return op.getRhs();
    ByteProduct product{
        Gemm::of(0, *constantValue(p.n), *constantValue(p.k), p.transposeA, p.transposeB),
        op.getUnsignedLhs(), op.getUnsignedRhs()};
    auto constant = op.getRhs().getDefiningOp<hr::ConstantOp>();
    Tensor packed = packedColumns(product, constantTensor(constant.getValue()).as<uint8_t>());
    auto type = RankedTensorType::get(packed.shape(), rewriter.getI8Type());
    return rewriter.create<hr::ConstantOp>(constant.getLoc(), type, tensorAttribute(packed, type));
  }
};

/// The image's patches as the rows of a matrix, then the product with the filter.
class Int8Convolution final : public Expansion {
public:
  StringRef name() const override { return "int8"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    return op && isOfBytes(op) && hasPatches(op);
  }

  double estimate(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ConvOp>(operation);
    double patches = bytesOf(op.getInput()) * static_cast<double>(positionsOf(op));
    return 1 + computeMicroseconds(op, machine, speed()) +
           (4 * patches + 2 * bytesOf(op.getResult())) / kBytesPerMicrosecond;
  }

  void rewrite(Operation *operation, const Machine &machine,
               RewriterBase &rewriter) const override {
    hr::ContractOp product = convolutionAsProduct(cast<hr::ConvOp>(operation), rewriter);
    // The filter of a convolution is a view of a constant at most.
    if (auto view = product.getRhs().getDefiningOp<hr::ReshapeOp>())
      if (auto constant = view.getInput().getDefiningOp<hr::ConstantOp>()) {
        rewriter.setInsertionPoint(product);
        Value same = rewriter.create<hr::ConstantOp>(
            constant.getLoc(),
            reshapeConstant(constant.getValue(), cast<RankedTensorType>(view.getType())));
        rewriter.modifyOpInPlace(product, [&] { product.getRhsMutable().assign(same); });
      }
    contraction.rewrite(product, machine, rewriter);
  }

private:
  Int8Contraction contraction;
};

} // namespace

const Expansion &int8Contraction() {
  static const Int8Contraction expansion;
  return expansion;
}

const Expansion &int8Convolution() {
  static const Int8Convolution expansion;
  return expansion;
}

} // namespace headrace
