#include "target/cpu/ChooseSchedule.h"

#include "target/cpu/WalkPlan.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr int64_t kWantedCells = 16; // enough to share evenly among a few threads
constexpr int64_t kAssumedDynamicSize = 8;
constexpr int64_t kElementwiseCell = 8192;

class ScheduleChooser {
public:
  ScheduleChooser(func::FuncOp kernel, const Machine &machine)
      : contents(KernelContents::of(kernel)), machine(machine) {
    for (Operation *op : contents.ops)
      for (Type type : op->getOperandTypes()) {
        Type element = getElementTypeOrSelf(type);
        if (!element.isIntOrFloat())
          continue;
        unsigned bits = element.getIntOrFloatBitWidth();
        // Vectors of booleans are packed bits in registers and bytes in memory: kept scalar. So is
        // bf16, of which LLVM 19 takes vectors of some lengths only, and ends the process at
        // others.
        vectorizable &= bits >= 8 && !element.isBF16();
        elementBytes = std::max<int64_t>(elementBytes, bits / 8);
      }
  }

  Schedule choose() {
    if (isEmpty())
      return Schedule();
    auto root = contents.rootGeneric();
    if (!root)
      return irregular();
    ranges = root.getStaticLoopRanges();
    iterators = root.getIteratorTypesArray();
    bool onlyGenerics = llvm::all_of(
        contents.ops, [](Operation *op) { return isa<linalg::GenericOp, linalg::FillOp>(op); });
    bool gathers = root.getRegion()
                       .walk([](tensor::ExtractOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
    if (!vectorizable || !onlyGenerics || gathers || ranges.empty())
      return plainLoops();
    if (contents.reductions.empty())
      return contents.ops.size() == 1 ? elementwise() : plainLoops();
    if (llvm::all_of(contents.reductions, reducesRows))
      return rows();
    if (contents.reductions.size() == 1)
      return tiles();
    return plainLoops();
  }

private:
  //===------------------------------------------------------------------------===//
  // Families
  //===------------------------------------------------------------------------===//

  /// Padding is cut into rows; joins and the like run as one piece.
  Schedule irregular() {
    Schedule schedule;
    if (auto pad = dyn_cast_or_null<tensor::PadOp>(contents.root)) {
      int64_t rank = pad.getResultType().getRank();
      schedule.grid.assign(rank, 0);
      for (int64_t i = 0; i + 2 < rank; ++i)
        schedule.grid[i] = 1;
    }
    return schedule;
  }

  Schedule plainLoops() {
    Schedule schedule;
    schedule.grid.assign(ranges.size(), 0);
    int64_t cells = 1;
    for (size_t i = 0; i + 1 < ranges.size() && cells < kWantedCells; ++i) {
      if (iterators[i] != utils::IteratorType::parallel)
        break;
      schedule.grid[i] = 1;
      cells *= sizeOrGuess(i);
    }
    return schedule;
  }

  Schedule elementwise() {
    Schedule schedule;
    schedule.family = Schedule::Family::Elementwise;
    int64_t last = ranges.size() - 1, size = ranges[last];
    schedule.grid.assign(ranges.size(), 1);
    schedule.grid[last] = 0;
    if (ShapedType::isDynamic(size)) {
      schedule.vector = 2 * lanes();
      schedule.grid[last] = kElementwiseCell;
      schedule.remainder = {Schedule::kUnknownRemainder};
      return schedule;
    }
    chooseVector(schedule, size);
    if (size > 2 * kElementwiseCell) {
      // A long dimension is cut as well, evenly where it can be.
      int64_t cell = 0;
      for (int64_t candidate = kElementwiseCell * 2; candidate >= kElementwiseCell / 4;
           candidate -= schedule.vector)
        if (size % candidate == 0 && candidate % schedule.vector == 0) {
          cell = candidate;
          break;
        }
      if (schedule.leavesRemainder() || cell == 0) {
        schedule.remainder = {Schedule::kUnknownRemainder}; // cells differ
        cell = kElementwiseCell;
      }
      schedule.grid[last] = cell;
    }
    return schedule;
  }

  Schedule rows() {
    Schedule schedule;
    schedule.family = Schedule::Family::Rows;
    linalg::GenericOp reduction = contents.reductions.front();
    int64_t length = reduction.getStaticLoopRanges().back();
    bool oneRowAxis = llvm::all_of(contents.reductions, [&](linalg::GenericOp op) {
      return op.getNumReductionLoops() == 1 && op.getStaticLoopRanges().back() == length;
    });
    schedule.grid.assign(ranges.size(), 1);
    for (size_t i = 0; i < ranges.size(); ++i)
      if (iterators[i] == utils::IteratorType::reduction || isRowDim(i, length))
        schedule.grid[i] = 0;
    if (!oneRowAxis || ShapedType::isDynamic(length))
      return schedule;
    chooseVector(schedule, length);
    return schedule;
  }

  Schedule tiles() {
    linalg::GenericOp anchor = contents.reductions.front();
    SmallVector<int64_t> parallel;
    for (auto [i, kind] : llvm::enumerate(iterators))
      if (kind == utils::IteratorType::parallel)
        parallel.push_back(i);
    if (parallel.empty() || ShapedType::isDynamic(ranges[parallel.back()]) ||
        !readsAlong(anchor, parallel.back()) || hasDynamicReduction(anchor))
      return plainLoops();

    Schedule schedule;
    schedule.family = Schedule::Family::Tiles;
    schedule.grid.assign(ranges.size(), 0);
    schedule.tile.assign(ranges.size(), 0);
    for (int64_t dim : parallel)
      schedule.tile[dim] = 1;
    int64_t feature = parallel.back();
    int64_t width = chooseFeatureTile(machine, ranges[feature], elementBytes);
    // Full vectors with something left over beat a divisor that leaves lanes idle.
    if (width < lanes() && ranges[feature] > 2 * lanes())
      width = 2 * lanes();
    schedule.tile[feature] = width;
    schedule.remainder.assign(ranges.size(), 0);
    schedule.remainder[feature] = ranges[feature] % width;
    int64_t vectors = (width + lanes() - 1) / lanes();

    std::optional<int64_t> row = rowDim(anchor, parallel);
    if (row) {
      int64_t most = std::clamp<int64_t>((machine.vectorRegisters - 1 - vectors) / vectors, 1, 14);
      if (!isContraction(anchor))
        most = std::max<int64_t>(1, machine.vectorRegisters / (4 * vectors));
      chooseRows(schedule, *row, most, /*even=*/isFeatureBlock(anchor, *row));
    }
    chooseGrid(schedule, parallel, feature, row);
    // Features outermost, rows innermost: a tile's weights are used by all rows of the cell.
    SmallVector<int64_t> inner;
    for (int64_t dim : llvm::reverse(parallel))
      if (dim != feature && (!row || dim != *row) && isFeatureBlock(anchor, dim))
        inner.push_back(dim);
    for (int64_t dim : parallel)
      if (dim != feature && (!row || dim != *row) && !llvm::is_contained(inner, dim))
        inner.push_back(dim);
    if (row)
      inner.push_back(*row);
    inner.push_back(feature);
    for (auto [i, kind] : llvm::enumerate(iterators))
      if (kind == utils::IteratorType::reduction)
        inner.push_back(i);
    schedule.order = inner;
    return schedule;
  }

  //===------------------------------------------------------------------------===//
  // Choices
  //===------------------------------------------------------------------------===//

  int64_t lanes() const { return machine.lanes(elementBytes); }
  int64_t sizeOrGuess(int64_t dim) const {
    return ShapedType::isDynamic(ranges[dim]) ? kAssumedDynamicSize : ranges[dim];
  }

  /// A vector length for a dimension of known size; what does not fill one is split off.
  void chooseVector(Schedule &schedule, int64_t size) const {
    if (size <= 4 * lanes()) {
      schedule.vector = std::max<int64_t>(size, 1);
      return;
    }
    for (int64_t multiple : {4, 2, 1}) {
      schedule.vector = multiple * lanes();
      if (size % schedule.vector == 0)
        return;
    }
    schedule.vector = 2 * lanes();
    schedule.remainder = {size % schedule.vector};
  }

  /// `even`: only tiles that divide the rows, so that the rows can be shared among cells.
  void chooseRows(Schedule &schedule, int64_t row, int64_t most, bool even) const {
    int64_t size = ranges[row];
    if (ShapedType::isDynamic(size)) {
      schedule.tile[row] = most;
      schedule.remainder[row] = Schedule::kUnknownRemainder;
      return;
    }
    if (size <= most && !even) {
      schedule.tile[row] = size;
      return;
    }
    int64_t divisor = 1;
    for (int64_t candidate = std::min(most, size); candidate > 1 && divisor == 1; --candidate)
      if (size % candidate == 0)
        divisor = candidate;
    if (5 * divisor >= 3 * most || even) {
      schedule.tile[row] = divisor;
      return;
    }
    int64_t pieces = (size + most - 1) / most;
    schedule.tile[row] = (size + pieces - 1) / pieces;
    schedule.remainder[row] = size % schedule.tile[row];
  }

  /// Cells from the outermost dimension inwards until there are enough of them.
  void chooseGrid(Schedule &schedule, ArrayRef<int64_t> parallel, int64_t feature,
                  std::optional<int64_t> row) const {
    SmallVector<int64_t> candidates;
    for (int64_t dim : parallel)
      if (dim != feature && (!row || dim != *row))
        candidates.push_back(dim);
    // A dimension with a partial tile stays whole, so that every size inside a cell is known.
    if (row && schedule.remainder[*row] <= 0)
      candidates.push_back(*row);
    if (schedule.remainder[feature] == 0)
      candidates.push_back(feature);
    int64_t cells = 1;
    for (int64_t dim : candidates) {
      if (cells >= kWantedCells && !ShapedType::isDynamic(ranges[dim]))
        break;
      int64_t unit = schedule.tile[dim];
      if (ShapedType::isDynamic(ranges[dim])) {
        schedule.grid[dim] = unit;
        cells *= kAssumedDynamicSize;
        continue;
      }
      int64_t count = ranges[dim] / unit;
      int64_t wanted = (2 * kWantedCells + cells - 1) / cells;
      int64_t group = std::max<int64_t>(1, count / wanted);
      while (count % group != 0)
        --group; // whole cells only, so that every size inside is known
      if (count == 1)
        continue;
      schedule.grid[dim] = unit * group;
      cells *= count / group;
    }
  }

  //===------------------------------------------------------------------------===//
  // What the kernel looks like
  //===------------------------------------------------------------------------===//

  /// Something in it has no elements: there is no size to cut into cells, tiles or vectors.
  bool isEmpty() const {
    return llvm::any_of(contents.ops, [](Operation *op) {
      return llvm::any_of(op->getOperandTypes(), [](Type type) {
        auto shaped = dyn_cast<ShapedType>(type);
        return shaped && llvm::is_contained(shaped.getShape(), 0);
      });
    });
  }

  static bool isContraction(linalg::GenericOp op) {
    return op.getNumDpsInputs() == 2 &&
           llvm::any_of(op.getBody()->without_terminator(),
                        [](Operation &o) { return isa<arith::MulFOp, arith::MulIOp>(o); });
  }

  /// A reduction along the dimension in which its inputs lie contiguously.
  static bool reducesRows(linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1)
      return false;
    unsigned last = op.getNumLoops() - 1;
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

  bool isRowDim(size_t dim, int64_t length) const {
    return dim + 1 == ranges.size() && ranges[dim] == length;
  }

  /// Whether the last dimension of the result is the last one of what is read along it.
  static bool readsAlong(linalg::GenericOp op, unsigned dim) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (AffineMap map : ArrayRef(maps).drop_back())
      for (auto [i, expr] : llvm::enumerate(map.getResults()))
        if (expr.isFunctionOfDim(dim) &&
            (!isa<AffineDimExpr>(expr) || i + 1 != map.getNumResults()))
          return false;
    return true;
  }

  static bool hasDynamicReduction(linalg::GenericOp op) {
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    return llvm::any_of(dims, [&](unsigned d) { return ShapedType::isDynamic(sizes[d]); });
  }

  /// A dimension of the second operand (weights) only.
  static bool isFeatureBlock(linalg::GenericOp op, unsigned dim) {
    if (!isContraction(op))
      return false;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    return maps[1].isFunctionOfDim(dim) && !maps[0].isFunctionOfDim(dim);
  }

  /// The dimension of which several elements share what is read along the features.
  std::optional<int64_t> rowDim(linalg::GenericOp anchor, ArrayRef<int64_t> parallel) const {
    SmallVector<AffineMap> maps = anchor.getIndexingMapsArray();
    ArrayRef<int64_t> candidates = parallel.drop_back();
    auto isStatic = [&](int64_t dim) { return !ShapedType::isDynamic(ranges[dim]); };
    if (isContraction(anchor)) {
      auto sharesWeights = [&](int64_t dim) {
        return maps[0].isFunctionOfDim(dim) && !maps[1].isFunctionOfDim(dim);
      };
      for (bool dynamic : {false, true})
        for (int64_t dim : llvm::reverse(candidates))
          if (isStatic(dim) != dynamic && sharesWeights(dim))
            return dim;
      for (int64_t dim : llvm::reverse(candidates))
        if (isStatic(dim) && isFeatureBlock(anchor, dim))
          return dim;
    }
    for (int64_t dim : llvm::reverse(candidates))
      if (isStatic(dim))
        return dim;
    return std::nullopt;
  }

  KernelContents contents;
  const Machine &machine;
  SmallVector<int64_t> ranges;
  SmallVector<utils::IteratorType> iterators;
  int64_t elementBytes = 1;
  bool vectorizable = true;
};

} // namespace

/// As many rows as have an accumulator each in a register, with room for what is read.
static Schedule walk(const Machine &machine) {
  Schedule schedule;
  schedule.family = Schedule::Family::Walk;
  schedule.tile = {machine.vectorRegisters / 4};
  schedule.vector = machine.vectorBytes;
  return schedule;
}

Schedule chooseCpuSchedule(func::FuncOp kernel, const Machine &machine) {
  if (findWalk(kernel))
    return walk(machine);
  return ScheduleChooser(kernel, machine).choose();
}

} // namespace headrace
