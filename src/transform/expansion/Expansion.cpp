#include "transform/expansion/Expansion.h"

#include "runtime/library/Library.h"
#include "transform/expansion/ExpansionEstimates.h"
#include "transform/expansion/LibraryContraction.h"

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
    if (machine.isDevice)
      return deviceMicroseconds(op, /*efficiency=*/0.9, /*tile=*/128);
    double microseconds = computeMicroseconds(op, machine, /*efficiency=*/0.9);
    if (needsTranspose(op))
      microseconds += bytesOf(op.getRhs()) / kBytesPerMicrosecond;
    return microseconds;
  }

  void rewrite(Operation *operation, const Machine &machine,
               RewriterBase &rewriter) const override {
    auto op = cast<hr::ContractOp>(operation);
    if (machine.isDevice) // whose kernels read operands in any order
      return;
    if (featuresInFirstOperand(op))
      swapOperands(op, rewriter);
    if (needsTranspose(op))
      transposeSecondOperand(op, rewriter);
  }

private:
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

/// OpenBLAS's single-precision product. It packs both operands on every call.
class OpenBlasContraction final : public LibraryContraction {
public:
  StringRef name() const override { return "openblas"; }

  bool applies(Operation *operation, const Machine &machine) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    return op && !machine.isDevice &&
           cast<RankedTensorType>(op.getType()).getElementType().isF32() &&
           libraryAvailable("openblas") && asMatrixProduct(op) &&
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
  StringRef routine() const override { return "openblas.sgemm"; }
};

/// Loops of our own over the image itself.
class GeneratedConvolution final : public Expansion {
public:
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<hr::ConvOp>(op); }
  double estimate(Operation *op, const Machine &machine) const override {
    return machine.isDevice ? deviceMicroseconds(op, /*efficiency=*/0.8, /*tile=*/128)
                            : computeMicroseconds(op, machine, /*efficiency=*/0.9);
  }
  void rewrite(Operation *, const Machine &, RewriterBase &) const override {}
};

/// The image's patches as the rows of a matrix, then OpenBLAS's product with the filter:
///   patches [n, oh, ow, kh * kw * c] = concat of one strided slice per position of the window
/// The patches are as many times larger than the image as the window has positions.
class OpenBlasConvolution final : public Expansion {
public:
  StringRef name() const override { return "openblas"; }

  bool applies(Operation *operation, const Machine &machine) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    return op && !machine.isDevice && op.getLayout() == hr::ChannelLayout::Last &&
           op.getGroups() == 1 &&
           llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; }) &&
           cast<RankedTensorType>(op.getType()).getElementType().isF32() &&
           positionsOf(op) <= kMostPositions && libraryAvailable("openblas");
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
    rewriter.setInsertionPoint(op);
    MLIRContext *context = op.getContext();
    SymbolicShape filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
    size_t spatial = filter.size() - 2;
    Type element = cast<RankedTensorType>(op.getType()).getElementType();

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

class EstimatingChooser final : public ExpansionChooser {
public:
  explicit EstimatingChooser(const Machine &machine) : machine(machine) {}
  const Expansion &choose(Operation *op, ArrayRef<const Expansion *> candidates) const override {
    auto here = llvm::to_vector(
        llvm::make_filter_range(candidates, [](const Expansion *e) { return e->isHere(); }));
    return **llvm::min_element(here, [&](const Expansion *a, const Expansion *b) {
      return a->estimate(op, machine) < b->estimate(op, machine);
    });
  }

private:
  Machine machine;
};

class FixedChooser final : public ExpansionChooser {
public:
  explicit FixedChooser(StringRef name) : wanted(name.str()) {}
  const Expansion &choose(Operation *, ArrayRef<const Expansion *> candidates) const override {
    auto *found =
        llvm::find_if(candidates, [&](const Expansion *e) { return e->name() == wanted; });
    return found == candidates.end() ? *candidates.front() : **found;
  }

private:
  std::string wanted;
};

} // namespace

SmallVector<const Expansion *> expansionsOf(Operation *op, const Machine &machine) {
  static const GeneratedContraction generatedContraction;
  static const GeneratedConvolution generatedConvolution;
  static const OpenBlasContraction openBlasContraction;
  static const OpenBlasConvolution openBlasConvolution;
  SmallVector<const Expansion *> all{&generatedContraction, &generatedConvolution,
                                     &openBlasContraction, &openBlasConvolution};
  llvm::append_range(all, deviceLibraryExpansions());
  SmallVector<const Expansion *> result;
  for (const Expansion *expansion : all)
    if (expansion->applies(op, machine))
      result.push_back(expansion);
  return result;
}

std::unique_ptr<ExpansionChooser> makeEstimatingChooser(const Machine &machine) {
  return std::make_unique<EstimatingChooser>(machine);
}

std::unique_ptr<ExpansionChooser> makeFixedChooser(StringRef name) {
  return std::make_unique<FixedChooser>(name);
}

} // namespace headrace
