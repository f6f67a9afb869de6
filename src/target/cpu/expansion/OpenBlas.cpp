// Products of matrices by OpenBLAS, convolutions as such products.
#include "runtime/program/Library.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/cpu/expansion/Patches.h"
#include "target/expansion/LibraryContraction.h"
#include "target/expansion/ProductShape.h"

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

/// OpenBLAS's product in f32 or f64. It packs both operands on every call.
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

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::ContractOp>(operation);
    Work work = ofProduct(productShape(op, sizeHints(op)), rateType(op->getOperand(0).getType()));
    addMovement(work, op);
    return work;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &) const override {
    if (call.routine != "openblas.sgemm" && call.routine != "openblas.dgemm")
      return std::nullopt;
    return ofProduct(shapeOfCall(call), call.type);
  }

private:
  /// Each matrix of a batch is a call.
  static Work ofProduct(const ProductShape &shape, DType type) {
    Work work = callWork(shape, type);
    work.libraryCalls = static_cast<int>(std::clamp(shape.batch, 1.0, 1e6));
    return work;
  }

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

  Work work(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ConvOp>(operation);
    SizeHints sizes = sizeHints(op);
    ProductShape shape = productShape(op, sizes);
    DType type = rateType(op.getType());
    Work work = LibraryContraction::callWork(shape, type);
    LibraryContraction::addMovement(work, op);
    // Patches are gathered by a slice for each position, joined, and read by the product.
    double elements = shape.batch * shape.rows * shape.depth;
    double patches = elements * static_cast<double>(sizeOf(type));
    // The channels of a pixel lie together: a loop for each pixel, in vectors if there
    // are many.
    auto channels = static_cast<double>(sizeHint(shapeOf(op.getInput()).back(), sizes));
    auto lanes = static_cast<double>(machine.lanes(static_cast<int64_t>(sizeOf(type))));
    work.arithmetic.push_back(
        {OperationKind::Scalar, type, 2 * elements / std::clamp(channels, 1.0, lanes)});
    work.move(5 * patches, 2 * patches);
    work.kernelCalls += 1 + static_cast<int>(positionsOf(op));
    return work;
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
