// Loops of our own on CPUs.
#include "analysis/MatrixProduct.h"
#include "analysis/cost/FeatureTiles.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/expansion/ProductShape.h"

using namespace mlir;

namespace headrace {
namespace {

bool isConstant(Value value) { return value.getDefiningOp<hr::ConstantOp>() != nullptr; }

/// A product in register tiles (recipe/ScheduleTiles.h), its operands read once and if loops
/// come back to them: weights for each of `rowCells` parts of the rows.
Work tiledWork(const ProductShape &shape, double rowCells, double imageBytes, double weightBytes,
               double resultBytes, DType type, const Machine &machine) {
  auto lanes = static_cast<double>(machine.lanes(static_cast<int64_t>(sizeOf(type))));
  FeatureTiles tiles{static_cast<int64_t>(shape.columns), static_cast<int64_t>(lanes),
                     machine.vectorRegisters};
  auto tile = static_cast<double>(tiles.propose());
  bool isTile = (tile >= lanes && !tiles.restPays()) || shape.columns <= 2 * lanes;
  double width = isTile ? std::max(tile, 1.0) : 2 * lanes;
  double vectors = std::ceil(width / lanes), blocks = std::ceil(shape.columns / width);
  double most =
      std::clamp((static_cast<double>(machine.vectorRegisters) - 1 - vectors) / vectors, 1.0, 14.0);
  // A single row is computed for several blocks of columns at once.
  double rows = std::min(std::floor(most), std::max(shape.rows, shape.rows == 1 ? blocks : 1));
  Work work;
  work.arithmetic.push_back(
      {OperationKind::Product, type, shape.operations(),
       RegisterTile{rows, width, shape.depth, lanes,
                    machine.rates.unitBytes / static_cast<double>(sizeOf(type))}
           .efficiency()});
  double whole = imageBytes + weightBytes + resultBytes;
  for (double bytes : {imageBytes, weightBytes, resultBytes})
    work.move(bytes, whole);
  work.parts = shape.batch * blocks * std::ceil(shape.rows / rows);
  // A panel of weights stays while all rows of a cell use it.
  double panel = shape.depth * width * static_cast<double>(sizeOf(type));
  double panels = weightBytes * std::ceil(shape.rows / rows);
  if (panel > machine.rates.nearCacheBytes && panels > weightBytes)
    work.move(panels - weightBytes, std::min(panel, machine.rates.coreCacheBytes));
  // Of a batch, a cell has a matrix at a time.
  double weights = weightBytes / shape.batch, image = imageBytes / shape.batch;
  if (weights > machine.rates.coreCacheBytes)
    work.move((rowCells - 1) * weightBytes, weights);
  if (image > machine.rates.nearCacheBytes && blocks > 1)
    work.move((blocks - 1) * imageBytes / rowCells, image / rowCells);
  return work;
}

constexpr double kWantedCells = 16; // of a kernel's grid

/// Loops of our own: the result's last dimension in vectors, which the second operand must hold
/// contiguously. Constant operands are packed that way for nothing.
class GeneratedContraction final : public Expansion {
public:
  StringRef name() const override { return "generated"; }
  bool applies(Operation *op, const Machine &) const override { return isa<hr::ContractOp>(op); }

  Work work(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ContractOp>(operation);
    SizeHints sizes = sizeHints(op);
    ProductShape shape = productShape(op, sizes);
    bool swapped = featuresInFirstOperand(op);
    if (swapped)
      std::swap(shape.rows, shape.columns);
    Value image = swapped ? op.getRhs() : op.getLhs(),
          weights = swapped ? op.getLhs() : op.getRhs();
    DType type = rateType(op.getType());
    double weightBytes = bytesAtHints(weights, sizes);
    // Cells are matrices of a batch and blocks of columns, and of rows if there are few of
    // those.
    double blocks = std::ceil(shape.columns / (2.0 * machine.lanes(sizeOf(type))));
    double rowCells = std::clamp(std::ceil(kWantedCells / (blocks * shape.batch)), 1.0, shape.rows);
    Work work = tiledWork(shape, rowCells, bytesAtHints(image, sizes), weightBytes,
                          bytesAtHints(op.getResult(), sizes), type, machine);
    work.arithmetic = {arithmeticOf(op, work.arithmetic.front())};
    if (needsTranspose(op) && turnsInTiles(op, machine)) {
      work.move(2 * weightBytes, machine.rates.nearCacheBytes);
    } else if (needsTranspose(op)) {
      work.move(2 * weightBytes, 2 * weightBytes);
      work.kernelCalls += 1;
    }
    return work;
  }

  void rewrite(Operation *operation, const Machine &machine,
               RewriterBase &rewriter) const override {
    auto op = cast<hr::ContractOp>(operation);
    if (featuresInFirstOperand(op))
      swapOperands(op, rewriter);
    if (needsTranspose(op) && turnsInTiles(op, machine))
      rewriter.modifyOpInPlace(op, [&] { op->setAttr(kTurnsOperandAttr, rewriter.getUnitAttr()); });
    else if (needsTranspose(op))
      transposeSecondOperand(op, rewriter);
  }

private:
  /// Register tiles need to know how many columns the result has, and how long the sums are; rows
  /// may be open. Plain loops, and sums of rows, are what is left otherwise.
  static Work::Arithmetic arithmeticOf(hr::ContractOp op, Work::Arithmetic inTiles) {
    Movement movement = op.getMovement();
    std::optional<unsigned> feature = featureDim(op);
    for (auto [dim, size] : llvm::enumerate(movement.domain)) {
      if (constantValue(size))
        continue;
      if (feature == dim)
        return {OperationKind::Scalar, inTiles.type, inTiles.operations};
      if (!movement.maps[2].isFunctionOfDim(dim))
        inTiles = {OperationKind::Simple, inTiles.type, inTiles.operations};
    }
    return inTiles;
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

  /// Whether the product's own loops put the second operand into the order of the columns, a matrix
  /// at a time, while it is in cache: a kernel for that would move all of them through memory. A
  /// single one is put in order once, for all threads; and if functions follow in the product's
  /// tiles, these save more.
  static bool turnsInTiles(hr::ContractOp op, const Machine &machine) {
    auto feature = featureDim(op);
    bool swapped = featuresInFirstOperand(op);
    SmallVector<AffineMap> maps = mapsOf(op);
    AffineMap image = maps[swapped ? 1 : 0], weights = maps[swapped ? 0 : 1], result = maps[2];
    Movement movement = op.getMovement();
    bool isBatch = false;
    double bytes = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() / 8.0;
    for (auto [dim, size] : llvm::enumerate(movement.domain)) {
      if (!weights.isFunctionOfDim(dim))
        continue;
      bool isColumn = dim == *feature, isSummed = !result.isFunctionOfDim(dim);
      if (!isColumn && !image.isFunctionOfDim(dim))
        return false; // columns of several dimensions, or summed over alone
      std::optional<int64_t> known = constantValue(size);
      if ((isColumn || isSummed) && !known)
        return false;
      if (isColumn || isSummed)
        bytes *= static_cast<double>(*known);
      else
        isBatch |= known != 1;
    }
    auto last = cast<AffineDimExpr>(weights.getResults().back()).getPosition();
    bool isFollowed = op->hasOneUse() && isa<hr::MapOp>(*op->user_begin());
    return isBatch && !isFollowed && !result.isFunctionOfDim(last) &&
           getElementTypeOrSelf(op.getLhs()) == getElementTypeOrSelf(op.getType()) &&
           bytes <= kTurnedPartOfCache * machine.rates.coreCacheBytes;
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
  Work work(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ConvOp>(operation);
    SizeHints sizes = sizeHints(op);
    // Cells are rows of the image: several of them if there are many.
    SymbolicShape result = shapeOf(op.getResult());
    bool first = op.getLayout() == hr::ChannelLayout::First;
    auto images = static_cast<double>(sizeHint(result.front(), sizes));
    auto height = static_cast<double>(sizeHint(result[first ? 2 : 1], sizes));
    double rowCells =
        images * height / std::max(1.0, std::floor(images * height / (2 * kWantedCells)));
    auto withCells = [&](double cells) {
      return tiledWork(productShape(op, sizes), cells, bytesAtHints(op.getInput(), sizes),
                       bytesAtHints(op.getFilter(), sizes), bytesAtHints(op.getResult(), sizes),
                       rateType(op.getType()), machine);
    };
    // ... or blocks of features, with all rows in each.
    Work byRows = withCells(std::max(rowCells, 1.0)), byFeatures = withCells(1);
    bool featuresFirst =
        machine.cost->microseconds(byFeatures, 1) < machine.cost->microseconds(byRows, 1);
    return featuresFirst ? byFeatures : byRows;
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
