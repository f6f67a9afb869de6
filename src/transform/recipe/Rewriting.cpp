#include "transform/recipe/Rewriting.h"

#include "dialect/PatternSets.h"
#include "runtime/system/Error.h"
#include "transform/common/Patterns.h"
#include "transform/recipe/TransposedCopy.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
namespace {

[[noreturn]] void refuse(Operation *op, const std::string &reason) {
  throw Error(ErrorKind::InvalidArgument, "stage '" + stageOf(op).str() + "' " + reason);
}

void applyAndMergeEqual(func::FuncOp kernel, const FrozenRewritePatternSet &patterns) {
  (void)applyPatternsAndFoldGreedily(kernel, patterns);
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
}

} // namespace

FusedTile tileAndFuse(RewriterBase &rewriter, TilingInterface op, ArrayRef<int64_t> sizes,
                      ArrayRef<int64_t> order, bool isGrid,
                      function_ref<bool(Operation *, bool)> fuses) {
  scf::SCFTileAndFuseOptions options;
  options.tilingOptions.setTileSizes(getAsIndexOpFoldResult(op->getContext(), sizes));
  SmallVector<int64_t> interchange(order);
  for (int64_t dim = 0; dim < static_cast<int64_t>(sizes.size()); ++dim)
    if (!llvm::is_contained(order, dim))
      interchange.push_back(dim);
  options.tilingOptions.setInterchange(interchange);
  if (isGrid)
    options.tilingOptions.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  options.setFusionControlFn([&](tensor::ExtractSliceOp, OpResult producer, bool isDestination) {
    return std::tuple(fuses(producer.getOwner(), isDestination), false);
  });
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTileAndFuseResult> tiled =
      scf::tileConsumerAndFuseProducersUsingSCF(rewriter, op, options);
  if (failed(tiled))
    refuse(op, "cannot be cut into tiles");
  FusedTile result{cast<TilingInterface>(tiled->tiledAndFusedOps.front()), tiled->loops};
  SmallVector<Operation *> replaced{op};
  llvm::append_range(replaced, tiled->fusedProducers);
  for (Operation *old : replaced) {
    for (Value value : old->getResults())
      if (Value replacement = tiled->replacements.lookup(value))
        rewriter.replaceAllUsesWith(value, replacement);
    if (old->use_empty())
      rewriter.eraseOp(old);
  }
  return result;
}

/// Tiles of a loop whose iterations all cover `size` elements have that size, whatever bounds it
/// was computed from.
static void fixTileSize(RewriterBase &rewriter, scf::ForOp loop, int64_t step, int64_t size) {
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<affine::AffineMinOp> sizes;
  for (Operation *user : loop.getInductionVar().getUsers())
    if (auto min = dyn_cast<affine::AffineMinOp>(user);
        min && llvm::is_contained(min.getMap().getResults(), rewriter.getAffineConstantExpr(step)))
      sizes.push_back(min);
  for (affine::AffineMinOp min : sizes) {
    rewriter.setInsertionPoint(min);
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(min, size);
  }
}

Value setRemainderApart(RewriterBase &rewriter, scf::ForOp loop, std::optional<int64_t> remainder) {
  OpBuilder::InsertionGuard guard(rewriter);
  scf::ForOp rest;
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!remainder || !step) {
    bool isPeeled = succeeded(scf::peelForLoopAndSimplifyBounds(rewriter, loop, rest));
    if (isPeeled && step)
      fixTileSize(rewriter, loop, *step, *step);
    return rest ? rest.getResult(0) : loop.getResult(0);
  }
  rewriter.setInsertionPoint(loop);
  AffineExpr low = rewriter.getAffineDimExpr(0), high = rewriter.getAffineDimExpr(1);
  Value end = affine::makeComposedAffineApply(rewriter, loop.getLoc(),
                                              low + (high - low).floorDiv(*step) * *step,
                                              {loop.getLowerBound(), loop.getUpperBound()});
  rewriter.setInsertionPointAfter(loop);
  rest = cast<scf::ForOp>(rewriter.clone(*loop));
  for (auto [some, all] : llvm::zip(loop.getResults(), rest.getResults()))
    rewriter.replaceAllUsesExcept(some, all, rest);
  rewriter.modifyOpInPlace(rest, [&] {
    rest.getLowerBoundMutable().assign(end);
    rest.getInitArgsMutable().assign(loop.getResults());
  });
  rewriter.modifyOpInPlace(loop, [&] { loop.getUpperBoundMutable().assign(end); });
  fixTileSize(rewriter, loop, *step, *step);
  fixTileSize(rewriter, rest, *step, *remainder);
  return rest.getResult(0);
}

std::pair<TilingInterface, TilingInterface>
splitOffRemainder(RewriterBase &rewriter, TilingInterface op, unsigned dim, int64_t width) {
  rewriter.setInsertionPoint(op);
  OpFoldResult size = op.getIterationDomain(rewriter)[dim].size;
  if (std::optional<int64_t> known = getConstantIntValue(size); known && *known % width == 0)
    return {op, nullptr};
  AffineExpr d0 = rewriter.getAffineDimExpr(0);
  OpFoldResult point = affine::makeComposedFoldedAffineApply(rewriter, op.getLoc(),
                                                             d0.floorDiv(width) * width, size);
  if (getConstantIntValue(point) == 0)
    return {op, nullptr};
  return linalg::splitOp(rewriter, op, dim, point);
}

void reduceSideBySide(RewriterBase &rewriter, TilingInterface op, unsigned dim, int64_t width,
                      int64_t maxBeside) {
  auto partial = dyn_cast<PartialReductionOpInterface>(op.getOperation());
  SmallVector<int64_t> sizes(op.getLoopIteratorTypes().size(), 0);
  rewriter.setInsertionPoint(op);
  if (!partial)
    return refuse(op, "cannot be reduced along a vector");
  SmallVector<Range> domain = op.getIterationDomain(rewriter);
  for (auto [i, kind] : llvm::enumerate(op.getLoopIteratorTypes()))
    if (kind == utils::IteratorType::reduction) {
      int64_t size = getConstantIntValue(domain[i].size).value_or(maxBeside + 1);
      sizes[i] = size <= maxBeside ? size : 1;
    }
  sizes[dim] = width;
  FailureOr<scf::SCFReductionTilingResult> tiled = scf::tileReductionUsingScf(
      rewriter, partial, getAsIndexOpFoldResult(op->getContext(), sizes));
  if (failed(tiled))
    return refuse(op, "cannot be reduced along a vector");
  size_t around = llvm::count_if(ArrayRef(sizes).take_front(dim), [](int64_t s) { return s != 0; });
  if (!getConstantIntValue(domain[dim].size))
    fixTileSize(rewriter, cast<scf::ForOp>(tiled->loops[around]), width, width);
  // Positions are those of the whole reduction; the tiles count from their own beginning.
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> positions;
  for (LoopLikeOpInterface loop : tiled->loops)
    positions.push_back(*loop.getSingleInductionVar());
  for (auto [i, size] : llvm::enumerate(sizes))
    if (size != 0 && !positions.empty()) {
      offsets[i] = positions.front();
      positions.erase(positions.begin());
    }
  for (Operation *part : tiled->parallelTiledOps)
    if (auto reduction = dyn_cast<linalg::LinalgOp>(part))
      linalg::offsetIndices(rewriter, reduction, offsets);
}

void insertCopies(RewriterBase &rewriter, func::FuncOp kernel, const LoopModel &model) {
  auto find = [&](const std::string &name) {
    Operation *found = nullptr;
    for (Operation *op : KernelContents::of(kernel).ops)
      if (stageOf(op) == name)
        found = op;
    return found;
  };
  auto nameStage = [&](Operation *op, const std::string &name) {
    op->setAttr(kStageAttr, rewriter.getStringAttr(name));
    SmallVector<Attribute> axes;
    for (const StageAxis &axis : model.find(name)->axes)
      axes.push_back(rewriter.getStringAttr(axis.name));
    op->setAttr(kAxesAttr, rewriter.getArrayAttr(axes));
  };
  auto copyOf = [&](Value value) {
    Location loc = value.getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    Value empty = rewriter.create<tensor::EmptyOp>(loc, tensor::getMixedSizes(rewriter, loc, value),
                                                   type.getElementType());
    return rewriter.create<linalg::CopyOp>(loc, value, empty);
  };
  for (const RecipeStep &step : model.recipe().steps) {
    if (step.kind == RecipeStep::Kind::CacheRead) {
      Operation *reader = find(step.stage);
      std::string name = step.names.empty() ? step.target + ".local" : step.names[0];
      linalg::CopyOp copy;
      for (OpOperand &operand : reader->getOpOperands()) {
        if (!isa<RankedTensorType>(operand.get().getType()) ||
            sourceName(operand.get()) != step.target)
          continue;
        if (!copy) {
          rewriter.setInsertionPoint(reader);
          copy = copyOf(operand.get());
          nameStage(copy, name);
        }
        if (operand.get() == copy.getInputs().front())
          operand.set(copy.getResult(0));
      }
    } else if (step.kind == RecipeStep::Kind::CacheWrite) {
      Operation *writer = find(step.stage);
      std::string inner = step.names.empty() ? step.stage + ".local" : step.names[0];
      rewriter.setInsertionPointAfter(writer);
      linalg::CopyOp copy = copyOf(writer->getResult(0));
      rewriter.replaceUsesWithIf(writer->getResult(0), copy.getResult(0), [&](OpOperand &use) {
        return use.getOwner() != copy && !isa<tensor::DimOp>(use.getOwner());
      });
      nameStage(writer, inner);
      nameStage(copy, step.stage);
      for (Value operand : writer->getOperands())
        if (auto fill = operand.getDefiningOp<linalg::FillOp>())
          fill->setAttr(kStageAttr, rewriter.getStringAttr(inner));
    }
  }
}

void tileCopies(RewriterBase &rewriter, func::FuncOp kernel) {
  SmallVector<TilingInterface> copies;
  kernel.walk([&](linalg::LinalgOp op) {
    if (op->hasAttr(kPackAttr))
      copies.push_back(cast<TilingInterface>(op.getOperation()));
  });
  for (TilingInterface copy : copies) {
    if (auto generic = dyn_cast<linalg::GenericOp>(copy.getOperation());
        generic && copyInSquares(rewriter, generic))
      continue;
    int64_t rank = static_cast<int64_t>(copy.getLoopIteratorTypes().size());
    SmallVector<int64_t> sizes(rank, 1), order = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
    if (order.empty())
      continue;
    sizes.back() = 0;
    tileAndFuse(rewriter, copy, sizes, order, /*isGrid=*/false,
                [](Operation *, bool) { return false; });
  }
}

void cleanUp(func::FuncOp kernel) {
  applyAndMergeEqual(
      kernel, PatternSets::get(kernel.getContext(), "clean up", [](RewritePatternSet &patterns) {
        scf::populateSCFForLoopCanonicalizationPatterns(patterns);
        tensor::populateFoldTensorEmptyPatterns(patterns);
        tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
        populateCanonicalizations(patterns);
      }));
}

void dropUnitDims(RewriterBase &, func::FuncOp kernel) {
  /// Notes the operation that replaces another, to give it its name.
  struct Replacement : RewriterBase::Listener {
    linalg::GenericOp made;
    void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
      if (auto generic = dyn_cast<linalg::GenericOp>(op))
        made = generic;
    }
  } replacement;
  IRRewriter rewriter(kernel.getContext(), &replacement);
  SmallVector<linalg::LinalgOp> ops;
  kernel.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  linalg::ControlDropUnitDims options;
  options.rankReductionStrategy =
      linalg::ControlDropUnitDims::RankReductionStrategy::ExtractInsertSlice;
  for (linalg::LinalgOp op : ops) {
    StringAttr stage = op->getAttrOfType<StringAttr>(kStageAttr);
    bool isFill = isa<linalg::FillOp>(op);
    SmallVector<Attribute> axes;
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
      if (ranges[dim] != 1)
        axes.push_back(rewriter.getStringAttr(axisName(op, dim)));
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      FailureOr<linalg::GenericOp> general = linalg::generalizeNamedOp(rewriter, op);
      if (failed(general))
        continue;
      generic = *general;
      rewriter.setInsertionPoint(generic);
    }
    replacement.made = generic;
    // A dimension that is read as a sum of unit dimensions is one itself afterwards.
    while (succeeded(linalg::dropUnitDims(rewriter, replacement.made, options)))
      rewriter.setInsertionPoint(replacement.made);
    if (!stage || isFill)
      continue;
    replacement.made->setAttr(kStageAttr, stage);
    if (axes.size() == replacement.made.getNumLoops())
      replacement.made->setAttr(kAxesAttr, rewriter.getArrayAttr(axes));
  }
  applyAndMergeEqual(
      kernel, PatternSets::get(
                  kernel.getContext(), "drop unit dimensions", [](RewritePatternSet &patterns) {
                    tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
                    populateCanonicalizations(patterns);
                  }));
}

void sliceStridedOperands(func::FuncOp kernel) {
  (void)applyPatternsAndFoldGreedily(kernel,
                                     PatternSets::get(kernel.getContext(), "slice strided operands",
                                                      populateSliceStridedOperandPatterns));
}

namespace {

/// A transpose that only moves dimensions of one element moves no element. As a cast it stays where
/// it is read: after the functions of the elements, which transposes are moved behind, these would
/// run on vectors of one lane.
struct CastUnitTranspose : OpRewritePattern<vector::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::TransposeOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = op.getSourceVectorType().getShape();
    SmallVector<int64_t> moved;
    for (int64_t dim : op.getPermutation())
      if (shape[dim] != 1)
        moved.push_back(dim);
    if (!llvm::is_sorted(moved))
      return rewriter.notifyMatchFailure(op, "elements change their order");
    rewriter.replaceOpWithNewOp<vector::ShapeCastOp>(op, op.getResultVectorType(), op.getVector());
    return success();
  }
};

/// Whether MLIR's vectorization makes a vector of all of an operation's loops of the value: what it
/// reads has one, and so have positions, but in the last loop.
bool hasAllLoops(linalg::LinalgOp op, Value value) {
  SetVector<Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *made = open[i].getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(open[i])) {
      if (argument.getOwner() == op.getBlock() &&
          argument.getArgNumber() < static_cast<unsigned>(op.getNumDpsInputs()))
        return true;
    } else if (auto index = dyn_cast<linalg::IndexOp>(made)) {
      if (index.getDim() + 1 < op.getNumLoops() || op.getNumLoops() == 1)
        return true;
    } else if (made->getBlock() == op.getBlock()) {
      open.insert(made->operand_begin(), made->operand_end());
    }
  }
  return false;
}

/// Vectorization combines as many elements as there are in the vector of what is reduced. Of one
/// that does not have all loops, as in sum(k), it would leave some out.
bool combinesAllPoints(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() == 0)
    return true;
  SmallVector<Operation *> combiners;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (Value combined = matchReduction(op.getRegionOutputArgs(), i, combiners);
        combined && !hasAllLoops(op, combined))
      return false;
  return true;
}

} // namespace

void vectorize(RewriterBase &rewriter, func::FuncOp kernel,
               function_ref<bool(Operation *)> wanted) {
  constexpr int64_t kLargestTile = 1 << 14; // elements; a larger one does not fit in registers
  SmallVector<linalg::LinalgOp> ops;
  kernel.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    int64_t points = 1;
    for (int64_t range : ranges)
      points =
          ShapedType::isDynamic(range) || points > kLargestTile ? kLargestTile + 1 : points * range;
    if (points > kLargestTile || !wanted(op) || !combinesAllPoints(op))
      continue;
    rewriter.setInsertionPoint(op);
    (void)linalg::vectorize(rewriter, op);
  }
  (void)applyPatternsAndFoldGreedily(
      kernel, PatternSets::get(kernel.getContext(), "vectorize", [](RewritePatternSet &patterns) {
        MLIRContext *context = patterns.getContext();
        vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
        vector::populateSinkVectorBroadcastPatterns(patterns);
        patterns.add<CastUnitTranspose, linalg::LinalgCopyVTRForwardingPattern,
                     linalg::LinalgCopyVTWForwardingPattern>(context, /*benefit=*/2);
        vector::TransferReadOp::getCanonicalizationPatterns(patterns, context);
        vector::TransferWriteOp::getCanonicalizationPatterns(patterns, context);
        populateSliceTransferPatterns(patterns);
      }));
}

} // namespace headrace
