// Level 3: vectors in loops that run step by step, such as those of recurrent layers.
//
// Before:
//   scf.for %step { %z = linalg.generic(%state, %weights)  // a product
//                   %next = linalg.generic(%z, %state) }   // a function of elements
// After:
//   scf.for %step { scf.for tiles of columns { scf.for %k { vector.transfer_read ... } }
//                   scf.for { vector.transfer_read ; math.tanh ; vector.transfer_write } }
//
// Weights that lie along the columns are accumulated in tiles of registers; those that lie along
// the sums, four rows at a time along vectors; int8 matmuls are summed as such (ByteSteps.h).
// States of a step that are functions of the same gates are computed together.
//
// Why: a step depends on the one before, so that a recipe, which speaks of stages side by side, has
// no loops to say of them; their insides are vectors all the same.
// When it hurts: never; what has no long rows of known size stays as it is.
#include "target/cpu/Passes.h"
#include "target/cpu/recipe/ByteSteps.h"
#include "target/cpu/recipe/KernelShape.h"
#include "transform/recipe/KernelModel.h"
#include "transform/recipe/Rewriting.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
#define GEN_PASS_DEF_CPUVECTORIZESTEPSPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// On an operation that stays what it is.
constexpr llvm::StringLiteral kLeftAttr = "hr.left";
/// Rows that are summed at a time, so that each reads what they have in common once.
constexpr int64_t kRows = 4;
/// Rows of a tile that share the weights they are multiplied with.
constexpr int64_t kMaxSharing = 8;
/// Rows that are reduced to one number at a time.
constexpr int64_t kMaxAtOnce = 16;
/// Vectors that a function of elements is computed in at a time.
constexpr int64_t kVectors = 4;
/// Functions of the same elements that are computed together.
constexpr int64_t kMaxTogether = 4;

struct CpuVectorizeStepsPass : impl::CpuVectorizeStepsPassBase<CpuVectorizeStepsPass> {
  using CpuVectorizeStepsPassBase::CpuVectorizeStepsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, LLVM::LLVMDialect, scf::SCFDialect,
                    tensor::TensorDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    auto recipe = kernel->getParentOp()->getAttrOfType<StringAttr>(kRecipeAttr);
    if (recipe && !recipe.empty())
      return; // its loops are what the recipe says
    SmallVector<linalg::GenericOp> stages;
    for (scf::ForOp loop : kernel.getOps<scf::ForOp>())
      llvm::append_range(stages,
                         llvm::make_filter_range(loop.getOps<linalg::GenericOp>(), isInReach));
    // The loop of a single step is gone by now; a kernel of rows has its vectors already.
    if (kernel.getOps<scf::ForallOp>().empty())
      llvm::append_range(stages,
                         llvm::make_filter_range(kernel.getOps<linalg::GenericOp>(), isInReach));
    if (stages.empty())
      return;
    kernel.walk(
        [](linalg::LinalgOp op) { op->setAttr(kLeftAttr, UnitAttr::get(op.getContext())); });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : stages)
      rewrite(rewriter, op);
    cleanUp(kernel);
    vectorize(rewriter, kernel, [](Operation *op) {
      return op->getParentOfType<scf::ForOp>() && !op->hasAttr(kLeftAttr);
    });
    noteScalars(kernel);
    kernel.walk([](linalg::LinalgOp op) { op->removeAttr(kLeftAttr); });
  }

private:
  /// Says which reductions inside of a step stay as they are.
  static void noteScalars(func::FuncOp kernel) {
    SmallVector<std::string> notes;
    kernel.walk([&](linalg::GenericOp op) {
      if (op->hasAttr(kLeftAttr) && op.getNumReductionLoops() > 0 && !stageOf(op).empty())
        notes.push_back("stage '" + stageOf(op).str() +
                        "' is computed element by element: its rows have no size that is known, "
                        "or what it reads does not lie along them");
    });
    if (!notes.empty())
      kernel->getParentOp()->setAttr(kRecipeNotesAttr,
                                     StringAttr::get(kernel.getContext(), llvm::join(notes, "; ")));
  }

  void rewrite(RewriterBase &rewriter, linalg::GenericOp op) const {
    if (multiplyBytes(rewriter, op, {vectorBytes, dotProducts}))
      return;
    readSlices(rewriter, op);
    if (!readsPlainly(op))
      return;
    if (op.getNumReductionLoops() == 0)
      cutIntoVectors(rewriter, op);
    else if (multipliesRows(op))
      sumInTiles(rewriter, op);
    else
      sumAlongVectors(rewriter, op);
  }

  /// Vectors of booleans are packed bits in registers and bytes in memory, and elements that are
  /// picked by an index are read one by one.
  static bool isInReach(linalg::GenericOp op) {
    bool hasNumbers = llvm::all_of(op->getOperandTypes(), [](Type type) {
      Type element = getElementTypeOrSelf(type);
      return element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 8;
    });
    bool picks = op.getRegion()
                     .walk([](tensor::ExtractOp) { return WalkResult::interrupt(); })
                     .wasInterrupted();
    return hasNumbers && !picks && op.getNumLoops() > 0 && op->getNumResults() == 1 &&
           !llvm::is_contained(op.getStaticLoopRanges(), 0);
  }

  /// Reads at a constant index, as of the gates of a cell, become a slice read as a whole.
  static void readSlices(RewriterBase &rewriter, linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    rewriter.setInsertionPoint(op);
    for (OpOperand *operand : op.getDpsInputOperands()) {
      AffineMap &map = maps[operand->getOperandNumber()];
      auto type = dyn_cast<RankedTensorType>(operand->get().getType());
      SmallVector<OpFoldResult> offsets, sizes,
          strides(map.getNumResults(), rewriter.getIndexAttr(1));
      SmallVector<AffineExpr> kept;
      SmallVector<int64_t> shape;
      for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
        auto index = dyn_cast<AffineConstantExpr>(expr);
        offsets.push_back(rewriter.getIndexAttr(index ? index.getValue() : 0));
        sizes.push_back(index ? OpFoldResult(rewriter.getIndexAttr(1))
                              : tensor::getMixedSize(rewriter, op.getLoc(), operand->get(), dim));
        if (index)
          continue;
        kept.push_back(expr);
        shape.push_back(type.getDimSize(dim));
      }
      if (kept.size() == map.getNumResults())
        continue;
      operand->set(rewriter.create<tensor::ExtractSliceOp>(
          op.getLoc(), RankedTensorType::get(shape, type.getElementType()), operand->get(), offsets,
          sizes, strides));
      map = AffineMap::get(map.getNumDims(), 0, kept, op.getContext());
    }
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  }

  static bool readsPlainly(linalg::GenericOp op) {
    return llvm::all_of(op.getIndexingMapsArray(),
                        [](AffineMap map) { return map.isProjectedPermutation(); });
  }

  /// A reduction along the dimension in which all that it reads lies contiguously: of rows, or of a
  /// few of them to one number.
  static bool sumsRows(linalg::GenericOp op) {
    unsigned last = op.getNumLoops() - 1;
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    bool isWhole = op.getNumParallelLoops() == 0 &&
                   llvm::all_of(ArrayRef(ranges).drop_back(), [](int64_t range) {
                     return !ShapedType::isDynamic(range) && range <= kMaxAtOnce;
                   });
    return (op.getNumReductionLoops() == 1 || (isWhole && ranges.size() == 2)) &&
           op.getIteratorTypesArray().back() == IteratorType::reduction &&
           llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
             return !map.isFunctionOfDim(last) ||
                    map.getResults().back() == getAffineDimExpr(last, op.getContext());
           });
  }

  /// A product whose weights lie contiguously along the results.
  static bool multipliesRows(linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (!isContraction(op) || op.getNumReductionLoops() != 1 || maps[2].getNumResults() == 0)
      return false;
    AffineExpr column = maps[2].getResults().back();
    unsigned dim = cast<AffineDimExpr>(column).getPosition();
    return !maps[0].isFunctionOfDim(dim) && maps[1].getNumResults() > 0 &&
           maps[1].getResults().back() == column;
  }

  int64_t lanesOf(linalg::GenericOp op) const {
    int64_t bytes = 1;
    for (Type type : op->getOperandTypes())
      bytes = std::max<int64_t>(bytes, getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8);
    return vectorBytes / bytes;
  }

  /// The longest vector that divides a size, of a quarter of a register or more; 0 if no vector
  /// does.
  static int64_t vectorLength(int64_t size, int64_t lanes, int64_t most) {
    if (!ShapedType::isDynamic(size))
      for (int64_t length = most * lanes; length >= std::max<int64_t>(lanes / 4, 2); length /= 2)
        if (size % length == 0)
          return length;
    return 0;
  }

  /// Loops over tiles, in the order of the dimensions; those of `innermost` inside all others.
  static FusedTile tiled(RewriterBase &rewriter, linalg::GenericOp op, ArrayRef<int64_t> sizes,
                         ArrayRef<int64_t> innermost = {}) {
    op->removeAttr(kLeftAttr);
    SmallVector<int64_t> order;
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (size != 0 && !llvm::is_contained(innermost, dim))
        order.push_back(static_cast<int64_t>(dim));
    llvm::append_range(order, innermost);
    return tileAndFuse(rewriter, cast<TilingInterface>(op.getOperation()), sizes, order,
                       /*isGrid=*/false, [](Operation *producer, bool) {
                         bool isFill = isa<linalg::FillOp>(producer);
                         if (isFill)
                           producer->removeAttr(kLeftAttr);
                         return isFill;
                       });
  }

  void cutIntoVectors(RewriterBase &rewriter, linalg::GenericOp op) const {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges(), sizes(ranges.size(), 1);
    sizes.back() = vectorLength(ranges.back(), lanesOf(op), kVectors);
    if (sizes.back() == 0)
      return;
    std::optional<int64_t> together = dimComputedTogether(op);
    if (!together)
      return void(tiled(rewriter, op, sizes));
    // As the innermost loop, written out: what its points have in common is computed once.
    FusedTile tile = tiled(rewriter, op, sizes, *together);
    (void)loopUnrollByFactor(cast<scf::ForOp>(tile.loops.back()), ranges[*together]);
  }

  /// A short dimension of the result along which most of what is read stays the same, as the states
  /// of a cell do.
  static std::optional<int64_t> dimComputedTogether(linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    for (auto [dim, range] : llvm::enumerate(ArrayRef(ranges).drop_back())) {
      auto reads = llvm::count_if(ArrayRef(maps).drop_back(),
                                  [&](AffineMap map) { return map.isFunctionOfDim(dim); });
      if (range > 1 && range <= kMaxTogether && 2 * reads < op.getNumDpsInputs())
        return dim;
    }
    return std::nullopt;
  }

  /// Tiles of results stay in registers while one product after the other is added to them.
  void sumInTiles(RewriterBase &rewriter, linalg::GenericOp op) const {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    SmallVector<int64_t> ranges = op.getStaticLoopRanges(), sizes(ranges.size(), 1);
    SmallVector<int64_t> terms(ranges.size(), 0), order, sharing;
    unsigned column = cast<AffineDimExpr>(maps[2].getResults().back()).getPosition();
    int64_t rows = 1;
    for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      if (kind == IteratorType::reduction) {
        sizes[dim] = 0;
        terms[dim] = 1;
        order.push_back(static_cast<int64_t>(dim));
      } else if (dim != column && !maps[1].isFunctionOfDim(dim)) {
        // Rows come last, so that they find the weights of a tile in the nearest cache.
        sharing.push_back(static_cast<int64_t>(dim));
        if (rows == 1)
          rows = sizes[dim] = rowsOfTile(ranges[dim]);
      }
    }
    sizes[column] = vectorLength(ranges[column], lanesOf(op), vectorsOfTile(rows));
    if (sizes[column] == 0)
      return;
    tileAndFuse(rewriter, tiled(rewriter, op, sizes, sharing).op, terms, order, /*isGrid=*/false,
                [](Operation *, bool) { return false; });
  }

  /// Rows that share the weights of a tile.
  static int64_t rowsOfTile(int64_t size) {
    for (int64_t rows = kMaxSharing; rows > 1 && !ShapedType::isDynamic(size); --rows)
      if (size % rows == 0)
        return rows;
    return 1;
  }

  /// The number of vectors per row, a power of two: enough to hide the latency of a sum, and a few
  /// more if rows share what is read.
  int64_t vectorsOfTile(int64_t rows) const {
    constexpr int64_t kEnough = 8, kWide = 64;
    int64_t registers = rows > 1 && vectorBytes >= kWide ? 2 * kEnough : kEnough;
    return llvm::bit_floor(static_cast<uint64_t>(registers / rows));
  }

  void sumAlongVectors(RewriterBase &rewriter, linalg::GenericOp op) const {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges(), sizes(ranges.size(), 1);
    auto last = static_cast<unsigned>(ranges.size() - 1);
    int64_t width = vectorLength(ranges[last], lanesOf(op), 1);
    if (width == 0 || !sumsRows(op) || !combinesInAnyOrder(op))
      return;
    if (op.getNumParallelLoops() == 0) {
      op->removeAttr(kLeftAttr);
      return reduceSideBySide(rewriter, cast<TilingInterface>(op.getOperation()), last, width,
                              kMaxAtOnce);
    }
    sizes[last] = 0;
    if (!ShapedType::isDynamic(ranges[last - 1]) && ranges[last - 1] % kRows == 0)
      sizes[last - 1] = kRows;
    reduceSideBySide(rewriter, tiled(rewriter, op, sizes).op, last, width, kMaxAtOnce);
  }
};

} // namespace
} // namespace headrace
