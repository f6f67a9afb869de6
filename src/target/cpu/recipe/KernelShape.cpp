#include "target/cpu/recipe/KernelShape.h"

#include "analysis/MatrixProduct.h"
#include "transform/recipe/KernelModel.h"

#include <numeric>

using namespace mlir;
using utils::IteratorType;

namespace headrace {

bool isContraction(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 2 &&
         llvm::any_of(op.getBody()->without_terminator(),
                      [](Operation &o) { return isa<arith::MulFOp, arith::MulIOp>(o); });
}

bool reducesRows(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1)
    return false;
  unsigned last = op.getNumLoops() - 1;
  if (op.getIteratorTypesArray()[last] != IteratorType::reduction)
    return false;
  unsigned covering = 0;
  for (AffineMap map : ArrayRef(maps).drop_back()) {
    if (!map.isProjectedPermutation())
      return false;
    if (map.getNumResults() == op.getNumLoops() &&
        map.getResults().back() == getAffineDimExpr(last, op.getContext()))
      ++covering;
  }
  return covering > 0;
}

SmallVector<std::string> reductionAxes(Operation *op) {
  auto generic = cast<linalg::GenericOp>(op);
  SmallVector<std::string> axes;
  for (auto [dim, kind] : llvm::enumerate(generic.getIteratorTypesArray()))
    if (kind == IteratorType::reduction)
      axes.push_back(axisName(op, dim));
  return axes;
}

bool readsAlong(linalg::GenericOp op, unsigned dim) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  // A window's position is that of its first element, plus what the loops around the tile say.
  auto isStepwise = [&](AffineExpr expr) {
    auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
    AffineExpr self = getAffineDimExpr(dim, op.getContext());
    return expr == self || (sum && expr.getKind() == AffineExprKind::Add &&
                            ((sum.getLHS() == self && !sum.getRHS().isFunctionOfDim(dim)) ||
                             (sum.getRHS() == self && !sum.getLHS().isFunctionOfDim(dim))));
  };
  for (AffineMap map : ArrayRef(maps).drop_back())
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (expr.isFunctionOfDim(dim) && (!isStepwise(expr) || i + 1 != map.getNumResults()))
        return false;
  return true;
}

int64_t distanceAlong(linalg::GenericOp op, unsigned operand, unsigned dim) {
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  AffineMap map = op.getIndexingMapsArray()[operand];
  int64_t distance = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    if (map.getResult(i).isFunctionOfDim(dim))
      return distance;
    if (type.isDynamicDim(i))
      return 0;
    distance *= type.getDimSize(i);
  }
  return 0;
}

int64_t rowsHeld(const Machine &machine, linalg::GenericOp op, unsigned row, int64_t elementBytes) {
  constexpr int64_t kLine = 64;
  int64_t distance = distanceAlong(op, /*operand=*/0, row) * elementBytes;
  int64_t places = machine.cacheWayBytes / kLine;
  if (distance > 0 && distance % kLine == 0)
    places /= std::gcd(places, distance / kLine);
  return machine.cacheWays * places;
}

int64_t rowTile(int64_t size, int64_t most, bool even) {
  if (ShapedType::isDynamic(size))
    return most;
  if (size <= most && !even)
    return size;
  int64_t divisor = 1;
  for (int64_t candidate = std::min(most, size); candidate > 1 && divisor == 1; --candidate)
    if (size % candidate == 0)
      divisor = candidate;
  if (5 * divisor >= 3 * most || even)
    return divisor;
  int64_t pieces = (size + most - 1) / most;
  return (size + pieces - 1) / pieces;
}

bool isFeatureBlock(linalg::GenericOp op, unsigned dim) {
  if (!isContraction(op))
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return maps[1].isFunctionOfDim(dim) && !maps[0].isFunctionOfDim(dim);
}

bool liesAlongSum(const KernelLoops &loops) {
  linalg::GenericOp op = loops.contents.rootGeneric();
  if (!op || !isContraction(op) || op.getNumReductionLoops() == 0)
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto isReduced = [&](int64_t dim) { return loops.iterators[dim] == IteratorType::reduction; };
  SmallVector<int64_t> parallel;
  for (auto [dim, range] : llvm::enumerate(loops.ranges))
    if (!isReduced(dim))
      parallel.push_back(dim);
  if (parallel.empty() || !maps[1].isProjectedPermutation())
    return false;
  int64_t feature = parallel.pop_back_val();
  auto bytes = static_cast<double>(loops.elementBytes);
  for (auto [dim, range] : llvm::enumerate(loops.ranges))
    if (isReduced(dim) || static_cast<int64_t>(dim) == feature) {
      if (loops.isOpen(dim))
        return false;
      bytes *= static_cast<double>(range);
    }
  if (bytes > kTurnedPartOfCache * loops.machine.rates.coreCacheBytes)
    return false;
  auto sharesColumns = [&](int64_t dim) {
    return maps[0].isFunctionOfDim(dim) && !maps[1].isFunctionOfDim(dim);
  };
  return !maps[0].isFunctionOfDim(feature) && maps[1].isFunctionOfDim(feature) &&
         isReduced(cast<AffineDimExpr>(maps[1].getResults().back()).getPosition()) &&
         llvm::any_of(parallel, sharesColumns);
}

std::optional<int64_t> dimContiguousInOperands(const KernelLoops &loops) {
  linalg::GenericOp op = loops.contents.rootGeneric();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  int64_t last = loops.ranges.size() - 1;
  bool isAlone = llvm::count_if(loops.contents.ops, llvm::IsaPred<linalg::GenericOp>) == 1;
  if (maps.size() < 2 || !maps.back().isIdentity() || loops.elementBytes != 4 || !isAlone)
    return std::nullopt;
  // Of all operands, those in the order of another dimension than the last agree on it. Operands
  // such as a bias have one of the two.
  std::optional<int64_t> across;
  for (AffineMap map : ArrayRef(maps).drop_back()) {
    if (!map.isProjectedPermutation())
      return std::nullopt;
    if (!map.isFunctionOfDim(last) ||
        map.getResults().back() == getAffineDimExpr(last, op.getContext()))
      continue;
    auto innermost = cast<AffineDimExpr>(map.getResults().back()).getPosition();
    if (!map.isPermutation() || (across && *across != innermost))
      return std::nullopt;
    across = innermost;
  }
  return across && !loops.isOpen(*across) && !loops.isOpen(last) ? across : std::nullopt;
}

std::optional<int64_t> dimReadAcross(const KernelLoops &loops) {
  std::optional<int64_t> across = dimContiguousInOperands(loops);
  bool fillsSquares =
      across && loops.ranges[*across] >= loops.lanes() && loops.ranges.back() >= loops.lanes();
  return fillsSquares ? across : std::nullopt;
}

int64_t rowLength(const KernelLoops &loops) {
  linalg::GenericOp first = loops.contents.reductions.front();
  int64_t length = first.getStaticLoopRanges().back();
  bool isOne = llvm::all_of(loops.contents.reductions, [&](linalg::GenericOp op) {
    return op.getNumReductionLoops() == 1 && op.getStaticLoopRanges().back() == length;
  });
  return isOne && !ShapedType::isDynamic(length) ? length : 0;
}

namespace {

/// Follows values from the kernel's result back to its reductions.
class RowFinder {
public:
  /// Whether the operation's points along `dim` share the result of a reduction.
  bool sharesReduction(linalg::GenericOp op, unsigned dim) {
    auto [known, isNew] = shares.try_emplace({op, dim}, false);
    if (!isNew)
      return known->second;
    bool found = false;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      if (found || !producer || !isReduced(producer))
        continue;
      AffineMap map = op.getMatchingIndexingMap(operand);
      found = !map.isFunctionOfDim(dim);
      AffineMap made = producer.getIndexingMapMatchingResult(cast<OpResult>(operand->get()));
      for (auto [read, written] : llvm::zip_equal(map.getResults(), made.getResults()))
        if (auto from = dyn_cast<AffineDimExpr>(written);
            from && read == getAffineDimExpr(dim, op.getContext()))
          found |= sharesReduction(producer, from.getPosition());
    }
    return shares[{op, dim}] = found;
  }

private:
  /// Whether a reduction is, or leads to, the operation.
  bool isReduced(linalg::GenericOp op) {
    auto [known, isNew] = reduced.try_emplace(op, op.getNumReductionLoops() > 0);
    if (!isNew || known->second)
      return known->second;
    bool found = llvm::any_of(op.getDpsInputs(), [&](Value operand) {
      auto producer = operand.getDefiningOp<linalg::GenericOp>();
      return producer && isReduced(producer);
    });
    return reduced[op] = found;
  }

  llvm::DenseMap<std::pair<Operation *, unsigned>, bool> shares;
  llvm::DenseMap<Operation *, bool> reduced;
};

} // namespace

SmallVector<int64_t> rowDims(const KernelLoops &loops) {
  RowFinder finder;
  SmallVector<int64_t> dims;
  for (auto [dim, kind] : llvm::enumerate(loops.iterators))
    if (kind == IteratorType::reduction ||
        finder.sharesReduction(loops.contents.rootGeneric(), dim))
      dims.push_back(static_cast<int64_t>(dim));
  return dims;
}

} // namespace headrace
