// Products of matrices by OpenBLAS, convolutions as such products.
#include "runtime/library/Library.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/expansion/LibraryContraction.h"
#include "target/expansion/ProductShape.h"

using namespace mlir;

namespace headrace {
namespace {

/// Whether OpenBLAS has products of this type.
bool isBlasType(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isF64();
}

/// OpenBLAS's product in single or double precision. It packs both operands on every call.
class OpenBlasContraction final : public LibraryContraction {
public:
  StringRef name() const override { return "openblas"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    return op && isBlasType(op.getType()) && libraryAvailable("openblas") && asMatrixProduct(op) &&
           // Reading takes the time; generated code reads for what surrounds the product as well.
           usesOf(op, op.getLhs()).value_or(2 * kFewUses) > kFewUses &&
           usesOf(op, op.getRhs()).value_or(2 * kFewUses) > kFewUses;
  }

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::ContractOp>(operation);
    return libraryWork(op, productShape(op, nominalSizes(op)));
  }

private:
  StringRef routine(hr::ContractOp op) const override {
    return getElementTypeOrSelf(op.getType()).isF64() ? "openblas.dgemm" : "openblas.sgemm";
  }
};

/// The image's patches as the rows of a matrix, then OpenBLAS's product with the filter:
///   patches [n, oh, ow, kh * kw * c] = concat of one strided slice per position of the window
/// The patches are as many times larger than the image as the window has positions.
class OpenBlasConvolution final : public Expansion {
public:
  StringRef name() const override { return "openblas"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    return op && op.getLayout() == hr::ChannelLayout::Last && op.getGroups() == 1 &&
           !op.isPadded() && isBlasType(op.getType()) && positionsOf(op) <= kMostPositions &&
           libraryAvailable("openblas");
  }

  Work work(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ConvOp>(operation);
    NominalSizes sizes = nominalSizes(op);
    ProductShape shape = productShape(op, sizes);
    Work work = LibraryContraction::libraryWork(op, shape);
    // Patches are gathered by a slice for each position, joined, and read by the product.
    DType type = rateType(op.getType());
    double elements = shape.batch * shape.rows * shape.depth;
    double patches = elements * static_cast<double>(sizeOf(type));
    // What lies together are the channels of a pixel: a loop for each, in vectors where they are
    // many.
    auto channels = static_cast<double>(nominal(shapeOf(op.getInput()).back(), sizes));
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
    rewriter.setInsertionPoint(op);
    MLIRContext *context = op.getContext();
    SymbolicShape filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
    size_t spatial = filter.size() - 2;
    Type element = getElementTypeOrSelf(op.getType());

    SymbolicShape patchShape(ArrayRef(result).drop_back());
    patchShape.push_back(filter[spatial]);
    SmallVector<int64_t> steps{1};
    llvm::append_range(steps, op.getStrides());
    steps.push_back(1);
    SmallVector<Value> patches;
    for (int64_t position = 0; position < positionsOf(op); ++position) {
      SmallVector<AffineExpr> starts(filter.size(), constantDim(0, context));
      int64_t rest = position;
      for (size_t i = spatial; i-- > 0;) {
        int64_t window = *constantValue(filter[i]);
        starts[i + 1] = constantDim(rest % window * op.getDilations()[i], context);
        rest /= window;
      }
      patches.push_back(rewriter.create<hr::SliceOp>(
          op.getLoc(), tensorType(patchShape, element), op.getInput(),
          AffineMapAttr::get(symbolMap(starts, context)), rewriter.getDenseI64ArrayAttr(steps)));
    }
    Value matrix = rewriter.create<hr::ConcatOp>(op.getLoc(), patches, filter.size() - 1);
    AffineExpr depth = shapeOf(matrix).back();
    Value weights = rewriter.create<hr::ReshapeOp>(
        op.getLoc(), tensorType({depth, filter.back()}, element), op.getFilter());

    unsigned rank = result.size(), dims = rank + 1;
    SmallVector<AffineExpr> rows, columns;
    for (unsigned i = 0; i < rank; ++i)
      columns.push_back(getAffineDimExpr(i, context));
    rows = columns;
    rows.back() = getAffineDimExpr(rank, context);
    AffineMap maps[] = {
        AffineMap::get(dims, 0, rows, context),
        AffineMap::get(dims, 0, {getAffineDimExpr(rank, context), columns.back()}, context),
        AffineMap::get(dims, 0, columns, context)};
    auto product = rewriter.create<hr::ContractOp>(op.getLoc(), matrix, weights,
                                                   rewriter.getAffineMapArrayAttr(maps));
    rewriter.replaceOp(op, product);
    contraction.rewrite(product, machine, rewriter);
  }

private:
  static constexpr int64_t kMostPositions = 64;

  static int64_t positionsOf(hr::ConvOp op) {
    int64_t positions = 1;
    SymbolicShape filter = shapeOf(op.getFilter());
    for (AffineExpr size : ArrayRef(filter).drop_back(2))
      positions *= *constantValue(size);
    return positions;
  }

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
