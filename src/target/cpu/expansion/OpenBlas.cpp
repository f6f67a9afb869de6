// Products of matrices by OpenBLAS, convolutions as such products.
#include "runtime/library/Library.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/cpu/expansion/Patches.h"
#include "target/expansion/Estimates.h"
#include "target/expansion/LibraryContraction.h"

using namespace mlir;

namespace headrace {
namespace {

/// Whether OpenBLAS has products of these types.
template <class Product> bool hasBlasTypes(Product op) {
  Type element = getElementTypeOrSelf(op.getType());
  return (element.isF32() || element.isF64()) &&
         llvm::all_of(op->getOperandTypes(),
                      [&](Type type) { return getElementTypeOrSelf(type) == element; });
}

/// OpenBLAS's product in single or double precision. It packs both operands on every call.
class OpenBlasContraction final : public LibraryContraction {
public:
  StringRef name() const override { return "openblas"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    return op && hasBlasTypes(op) && libraryAvailable("openblas") && asMatrixProduct(op) &&
           // Reading takes the time; generated code reads for what surrounds the product as well.
           usesOf(op, op.getLhs()).value_or(2 * kFewUses) > kFewUses &&
           usesOf(op, op.getRhs()).value_or(2 * kFewUses) > kFewUses;
  }

  double estimate(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ContractOp>(operation);
    double packing = bytesOf(op.getLhs()) + bytesOf(op.getRhs());
    return 3 + computeMicroseconds(op, machine, /*efficiency=*/0.85) +
           (packing + unfusedBytes(op)) / kBytesPerMicrosecond;
  }

private:
  StringRef routine(hr::ContractOp op) const override {
    return getElementTypeOrSelf(op.getType()).isF64() ? "openblas.dgemm" : "openblas.sgemm";
  }
};

/// The image's patches as the rows of a matrix, then OpenBLAS's product with the filter.
class OpenBlasConvolution final : public Expansion {
public:
  StringRef name() const override { return "openblas"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    return op && hasPatches(op) && hasBlasTypes(op) && libraryAvailable("openblas");
  }

  double estimate(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ConvOp>(operation);
    double patches = bytesOf(op.getInput()) * static_cast<double>(positionsOf(op));
    return 3 + computeMicroseconds(op, machine, /*efficiency=*/0.85) +
           (4 * patches + 2 * bytesOf(op.getResult())) / kBytesPerMicrosecond;
  }

  void rewrite(Operation *operation, const Machine &machine,
               RewriterBase &rewriter) const override {
    auto op = cast<hr::ConvOp>(operation);
    contraction.rewrite(convolutionAsProduct(op, rewriter), machine, rewriter);
  }

private:
  OpenBlasContraction contraction;
};

} // namespace

const Expansion &openBlasContraction() {
  static const OpenBlasContraction expansion;
  return expansion;
}

const Expansion &openBlasConvolution() {
  static const OpenBlasConvolution expansion;
  return expansion;
}

} // namespace headrace
