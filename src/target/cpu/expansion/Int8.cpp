// Products of 8-bit integers by our own routine, convolutions as such products. Before:
//   %c = hr.contract %a, %w maps [...] {accumulator = i32, unsigned_lhs} : (i8, i8) -> i32
// After:
//   %c = hr.library "int8.gemm" (%a, %w)
#include "runtime/library/ByteProduct.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/cpu/expansion/Patches.h"
#include "target/expansion/LibraryContraction.h"
#include "target/expansion/ProductShape.h"
#include "transform/simplify/ConstantMovement.h"

using namespace mlir;

namespace headrace {
namespace {

/// Its speed, in units of products in single precision.
double speed() { return bytes::bestKind() == bytes::Kind::DotProducts ? 3.5 : 1.5; }

/// One call of our own routine; what follows it is a kernel of its own.
Work workOf(Operation *op, const ProductShape &shape) {
  Work work = LibraryContraction::libraryWork(op, shape);
  work.kernelCalls += work.libraryCalls;
  work.libraryCalls = 0;
  work.arithmetic = {{OperationKind::Product, DType::F32, shape.operations(), speed()}};
  return work;
}

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

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::ContractOp>(operation);
    return workOf(op, productShape(op, nominalSizes(op)));
  }

private:
  StringRef routine(hr::ContractOp) const override { return "int8.gemm"; }

  SmallVector<AffineExpr> furtherParameters(hr::ContractOp op) const override {
    return {constantDim(op.getUnsignedLhs(), op.getContext()),
            constantDim(op.getUnsignedRhs(), op.getContext())};
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

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::ConvOp>(operation);
    ProductShape shape = productShape(op, nominalSizes(op));
    Work work = workOf(op, shape);
    // Patches are gathered by slices, joined, and read by the product.
    double patches = shape.batch * shape.rows * shape.depth;
    work.move(5 * patches, 2 * patches);
    work.kernelCalls += 1;
    return work;
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
