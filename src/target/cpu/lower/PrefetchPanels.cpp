// Level 3: fetches the next panel of an operand while one is used.
//
// Before:
//   scf.for %cell { scf.for %row { scf.for %k { read %w[%cell, %k, 0] } } }
// After:
//   scf.for %cell { scf.for %row { %share = the part of %w[%cell + 1] that this row fetches
//                                  scf.for %k { prefetch %share[%k] ; read %w[%cell, %k, 0] } } }
//
// All rows use a panel of the weights, which is found in cache except for the first of them: that
// one waits for memory, which is idle while the others compute. A panel is what the loops inside
// the rows walk; it is in one piece, and the next one behind it. Its lines are fetched evenly
// over all rows. If a core's own cache does not hold both panels, only the last rows fetch lines:
// those that they use are not needed again, so that fetched ones take their place. How many panels
// ahead is up to the schedule (`hr.prefetch` on the operand, else one).
#include "target/cpu/Passes.h"
#include "transform/recipe/Prefetch.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

#include <algorithm>

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUPREFETCHPANELSPASS
#include "target/cpu/Passes.h.inc"

namespace {

constexpr int kKeepInCore = 2;      // as locality of prefetches goes: the core's own cache
constexpr int64_t kMinBytes = 8192; // what the CPU fetches ahead by itself
constexpr int64_t kLineBytes = 64;
constexpr int64_t kOthersPart = 8; // of the cache, is for what else the rows read and write

/// How often a loop runs that starts at 0; nothing if that is not known.
std::optional<int64_t> tripsOf(scf::ForOp loop) {
  std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                         high = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (low != 0 || !high || !step || *high <= 0)
    return std::nullopt;
  return llvm::divideCeil(*high, *step);
}

/// A read of an operand and the loops around it, from the innermost on.
struct PanelRead {
  vector::TransferReadOp read;
  SmallVector<scf::ForOp> inside; // walk the panel
  SmallVector<scf::ForOp> passes; // use all of it each time
};

bool walks(scf::ForOp loop, vector::TransferReadOp read) {
  return llvm::is_contained(read.getIndices(), Value(loop.getInductionVar()));
}

/// Whether all iterations of a loop around the panel use the same one.
bool staysInPanel(scf::ForOp loop, const PanelRead &panel) {
  vector::TransferReadOp read = panel.read;
  size_t outer =
      std::max<size_t>(read.getIndices().size(), panel.inside.size() + 1) - panel.inside.size() - 1;
  return llvm::all_of(read.getIndices().take_front(outer),
                      [&](Value index) { return loop.isDefinedOutsideOfLoop(index); });
}

/// Whether the loops inside the passes walk the last dimensions of the operand, each as a whole.
bool isPanel(const PanelRead &panel) {
  vector::TransferReadOp read = panel.read;
  auto type = cast<MemRefType>(read.getSource().getType());
  if (read.getVectorType().getShape().back() != type.getShape().back() ||
      getConstantIntValue(read.getIndices().back()) != 0 ||
      read.getVectorType().getNumElements() != type.getShape().back())
    return false;
  int64_t dim = type.getRank() - 1;
  for (scf::ForOp loop : panel.inside) {
    --dim;
    if (dim < 0 || read.getIndices()[dim] != loop.getInductionVar() ||
        getConstantIntValue(loop.getStep()) != 1 || tripsOf(loop) != type.getDimSize(dim))
      return false;
  }
  return true;
}

std::optional<PanelRead> findPanel(vector::TransferReadOp read) {
  auto operand = dyn_cast<BlockArgument>(read.getSource());
  auto type = cast<ShapedType>(read.getSource().getType());
  bool isOperand = operand && isa<func::FuncOp>(operand.getOwner()->getParentOp()) &&
                   isa<MemRefType>(type) && type.hasStaticShape() && type.getRank() > 1 &&
                   cast<MemRefType>(type).getLayout().isIdentity();
  if (!isOperand)
    return std::nullopt;
  PanelRead panel{read, {}, {}};
  for (auto loop = dyn_cast<scf::ForOp>(read->getParentOp()); loop;
       loop = dyn_cast<scf::ForOp>(loop->getParentOp())) {
    bool isInside = walks(loop, read) && panel.passes.empty();
    bool isPass = tripsOf(loop) && !panel.inside.empty() && staysInPanel(loop, panel);
    if (!isInside && !isPass)
      break;
    (isInside ? panel.inside : panel.passes).push_back(loop);
  }
  if (panel.inside.empty() || panel.passes.empty() || !isPanel(panel))
    return std::nullopt;
  return panel;
}

struct CpuPrefetchPanelsPass : impl::CpuPrefetchPanelsPassBase<CpuPrefetchPanelsPass> {
  using CpuPrefetchPanelsPassBase::CpuPrefetchPanelsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) { moveLoopInvariantCode(loop); });
    SmallVector<PanelRead> panels;
    getOperation().walk([&](vector::TransferReadOp read) {
      if (std::optional<PanelRead> panel = findPanel(read))
        panels.push_back(*panel);
    });
    for (const PanelRead &panel : panels)
      prefetch(panel);
  }

private:
  /// While one is used.
  static int64_t panelsAhead(vector::TransferReadOp read) {
    auto operand = cast<BlockArgument>(read.getSource());
    auto kernel = cast<func::FuncOp>(operand.getOwner()->getParentOp());
    auto given = kernel.getArgAttrOfType<IntegerAttr>(operand.getArgNumber(), kPrefetchAttr);
    return given ? given.getInt() : kPanelsAhead;
  }

  /// How many of the passes, the last ones, fetch lines, so that the core's own cache holds what is
  /// still needed of the panels; 0 if it cannot.
  int64_t fetchingPasses(int64_t bytes, int64_t ahead, int64_t passes) const {
    if ((1 + ahead) * bytes <= coreBytes)
      return passes;
    int64_t room = coreBytes - coreBytes / kOthersPart - ahead * bytes;
    if (room < 0)
      return 0;
    // All but the share of the last pass has come when that pass begins.
    int64_t fetching = 1;
    while (fetching < passes - 1 && fetching * bytes <= room * (fetching + 1))
      ++fetching;
    return fetching;
  }

  void prefetch(const PanelRead &panel) {
    vector::TransferReadOp read = panel.read;
    auto type = cast<MemRefType>(read.getSource().getType());
    int64_t elementBytes = type.getElementTypeBitWidth() / 8;
    int64_t size = type.getShape().back(), steps = 1, passes = 1;
    for (scf::ForOp loop : panel.inside)
      steps *= *tripsOf(loop);
    for (scf::ForOp loop : panel.passes)
      passes *= *tripsOf(loop);
    size *= steps;
    int64_t ahead = panelsAhead(read), bytes = size * elementBytes;
    int64_t fetching = fetchingPasses(bytes, ahead, passes);
    if (ahead == 0 || passes < 2 || bytes < kMinBytes || fetching == 0 ||
        size == type.getNumElements())
      return;
    Location loc = read.getLoc();
    // Outside the rows: where the panel begins that is fetched.
    OpBuilder b(panel.passes.back());
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(all.front(), llvm::seq<int64_t>(0, type.getRank()));
    Value flat = b.create<memref::CollapseShapeOp>(loc, read.getSource(), all);
    AffineExpr own = b.getAffineConstantExpr(0);
    SmallVector<OpFoldResult> operands;
    int64_t stride = type.getNumElements();
    for (size_t dim = 0; dim + panel.inside.size() + 1 < read.getIndices().size(); ++dim) {
      stride /= type.getDimSize(dim);
      own = own + b.getAffineDimExpr(operands.size()) * stride;
      operands.push_back(OpFoldResult(read.getIndices()[dim]));
    }
    // The last panel is followed by none.
    Value next = getValueOrCreateConstantIndexOp(
        b, loc,
        affine::makeComposedFoldedAffineMin(
            b, loc,
            AffineMap::get(
                operands.size(), 0,
                {own + ahead * size, b.getAffineConstantExpr(type.getNumElements() - size)},
                b.getContext()),
            operands));
    // In each pass: where its share begins. Before the passes that fetch: what the pass itself
    // uses.
    int64_t distance = llvm::divideCeil(size, steps * fetching);
    b.setInsertionPoint(panel.inside.back());
    Value share = position(b, loc, panel.passes, fetching - passes, steps * distance, next);
    if (fetching < passes) {
      Value isEarly = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, share, next);
      Value used = getValueOrCreateConstantIndexOp(
          b, loc, affine::makeComposedFoldedAffineApply(b, loc, own, operands));
      share = b.create<arith::SelectOp>(loc, isEarly, used, share);
    }
    b.setInsertionPoint(read);
    int64_t line = std::max<int64_t>(1, kLineBytes / elementBytes);
    for (int64_t offset = 0; offset < distance; offset += line) {
      Value begin =
          offset == 0
              ? share
              : b.create<arith::AddIOp>(loc, share, b.create<arith::ConstantIndexOp>(loc, offset));
      b.create<memref::PrefetchOp>(loc, flat,
                                   ValueRange{position(b, loc, panel.inside, 0, distance, begin)},
                                   /*isWrite=*/false, kKeepInCore, /*isDataCache=*/true);
    }
  }

  /// begin + (index + iterations of the loops so far) * distance; the loops from the inside on.
  static Value position(OpBuilder &b, Location loc, ArrayRef<scf::ForOp> nest, int64_t index,
                        int64_t distance, Value begin) {
    AffineExpr count = b.getAffineConstantExpr(0);
    SmallVector<OpFoldResult> operands;
    for (scf::ForOp loop : llvm::reverse(nest)) {
      AffineExpr walked =
          b.getAffineDimExpr(operands.size()).floorDiv(*getConstantIntValue(loop.getStep()));
      count = count * *tripsOf(loop) + walked;
      operands.push_back(loop.getInductionVar());
    }
    AffineExpr place = (count + index) * distance + b.getAffineDimExpr(operands.size());
    operands.push_back(begin);
    return getValueOrCreateConstantIndexOp(
        b, loc, affine::makeComposedFoldedAffineApply(b, loc, place, operands));
  }
};

} // namespace
} // namespace headrace
