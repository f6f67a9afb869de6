#include "target/cpu/recipe/ScheduleTiles.h"

#include "target/cpu/recipe/KernelShape.h"
#include "transform/recipe/Prefetch.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {

constexpr int64_t kWantedCells = 16; // enough to share evenly among a few threads
constexpr int64_t kMaxCells = 4096;  // beyond, starting cells would cost what caches save
constexpr int64_t kMaxVectors = 64;  // that a tile is written out in

TileScheduler::TileScheduler(const KernelLoops &loops)
    : loops(loops), anchor(loops.contents.reductions.front()) {
  for (auto [dim, kind] : llvm::enumerate(loops.iterators))
    if (kind == IteratorType::parallel)
      parallel.push_back(dim);
  if (!applies())
    return;
  row = findRow();
  byColumns = row && isContraction(anchor) && isFeatureBlock(anchor, parallel.back()) &&
              !isFeatureBlock(anchor, *row);
}

bool TileScheduler::applies() const {
  return !parallel.empty() && (readsAlong(anchor, parallel.back()) || liesAlongSum(loops));
}

/// Registers that a row of a tile takes.
int64_t TileScheduler::vectorsOf(int64_t columns) const {
  return (columns + loops.lanes() - 1) / loops.lanes();
}

/// The number of rows whose accumulators fit in registers next to their operands.
int64_t TileScheduler::rowsInRegisters(int64_t columns) const {
  int64_t registers = loops.machine.vectorRegisters;
  return isContraction(anchor) ? FeatureTiles::maxRows(registers, loops.lanes(), columns)
                               : std::max<int64_t>(1, registers / (4 * vectorsOf(columns)));
}

int64_t TileScheduler::maxRows(int64_t columns) const {
  return std::min(rowsInRegisters(columns),
                  rowsHeld(loops.machine, anchor, *row, loops.elementBytes));
}

CpuSchedule TileScheduler::propose() const {
  CpuSchedule schedule;
  schedule.kind = CpuSchedule::Kind::Tiles;
  schedule.cells = cellsInCache();
  schedule.columns = proposeColumns(row);
  schedule.rows = row ? rowTile(loops.ranges[*row], maxRows(schedule.columns),
                                /*even=*/isFeatureBlock(anchor, *row))
                      : 1;
  schedule.features = featuresComeFirst(schedule);
  // All rows of a cell share its weights: the fewer cells the better, as long as threads have some.
  if (schedule.features && !rowsAreAdjacent())
    schedule.cells = std::max<int64_t>(kWantedCells / 2, 2 * loops.machine.rates.threads);
  schedule.pack = packingPays(tileOf(schedule));
  schedule.depth = proposeDepth(schedule.columns);
  // Results whose rows are a power of two apart would share few places of the caches column by
  // column.
  schedule.order = rowsAreAdjacent() && !schedule.pack;
  schedule.prefetch = prefetchesPanels() ? kPanelsAhead : 0;
  return schedule;
}

/// Whether rows of the left-hand operand are adjacent in memory, as in gradients of weights: each
/// term reads further lines of both operands, which the nearest cache has to hold for all rows.
bool TileScheduler::rowsAreAdjacent() const {
  return byColumns && anchor == loops.contents.root &&
         distanceAlong(anchor, /*operand=*/0, *row) == 1;
}

/// Terms that are added at a time if all are too many: the nearest cache holds the columns of the
/// right-hand operand for them.
int64_t TileScheduler::proposeDepth(int64_t columns) const {
  constexpr int64_t kFewestTerms = 64; // that are worth reading and writing the tile again
  std::optional<int64_t> split = splitReduction();
  if (!rowsAreAdjacent() || !split)
    return 0;
  int64_t terms = 1;
  for (auto [dim, kind] : llvm::enumerate(loops.iterators))
    if (kind == IteratorType::reduction) {
      if (loops.isOpen(dim))
        return 0;
      terms *= loops.ranges[dim];
    }
  const Machine &machine = loops.machine;
  int64_t held = machine.cacheWays * machine.cacheWayBytes / (columns * loops.elementBytes);
  int64_t range = loops.ranges[*split], depth = std::max<int64_t>(1, held / (terms / range));
  if (terms <= held + held / 2 || depth >= range)
    return 0;
  while (range % depth != 0)
    --depth;
  return depth * (terms / range) >= kFewestTerms ? depth : 0;
}

/// Enough cells for threads to share, and so many that the rows of one stay in the core's own cache
/// while panel after panel of the weights uses them: of a large image, or of many images, only a
/// part fits.
int64_t TileScheduler::cellsInCache() const {
  if (!byColumns)
    return kWantedCells;
  double cells = std::ceil(operandBytes(0) / (loops.machine.rates.coreCacheBytes / 2));
  return std::clamp(static_cast<int64_t>(std::min<double>(cells, kMaxCells)), kWantedCells,
                    kMaxCells);
}

/// Tiles of the columns of the root as it was formed, if these rows are in a tile.
int64_t TileScheduler::proposeColumns(std::optional<int64_t> rows) const {
  int64_t twoVectors = 2 * loops.lanes();
  if (loops.isOpen(parallel.back()))
    return twoVectors;
  FeatureTiles tiles{loops.ranges[parallel.back()], loops.lanes(), loops.machine.vectorRegisters};
  if (rows && isContraction(anchor) && !isFeatureBlock(anchor, *rows) && !loops.isOpen(*rows))
    tiles.rows = loops.ranges[*rows];
  int64_t columns = tiles.propose();
  // Full vectors with something left over beat a divisor that leaves lanes idle: products take two,
  // which share what they broadcast. Windows of each channel share nothing and take one, of as many
  // rows as it takes until a sum is there again; those without rows have only their vectors.
  bool sharesNothing =
      linalg::GenericOp(anchor).getIndexingMapsArray().front().isFunctionOfDim(parallel.back());
  constexpr int64_t rowsOfLatency = 4;
  bool hasRows = isContraction(anchor) &&
                 (!rows || loops.isOpen(*rows) || loops.ranges[*rows] >= rowsOfLatency);
  if (sharesNothing && (hasRows || columns % loops.lanes() != 0) && tiles.features > loops.lanes())
    return loops.lanes();
  bool leavesRest = (columns < loops.lanes() && tiles.features > twoVectors) ||
                    (isContraction(anchor) && tiles.restPays());
  if (!leavesRest)
    return columns;
  return readsFarLines() ? 2 * twoVectors : twoVectors;
}

/// Whether the lines of constant weights, which are not packed, lie far apart beyond the core's own
/// cache: the more of each is read at a time the better, if registers suffice for several rows.
bool TileScheduler::readsFarLines() const {
  constexpr int64_t enoughRegisters = 32;
  return loops.form.packing.columns == 1 && loops.machine.vectorRegisters >= enoughRegisters &&
         isContraction(anchor) && operandBytes(1) > loops.machine.rates.coreCacheBytes / 2;
}

/// Whether the weights come from memory, if panels of them can be fetched ahead of their use.
bool TileScheduler::prefetchesPanels() const {
  if (!isContraction(anchor))
    return false;
  Value right = linalg::GenericOp(anchor)->getOperand(1);
  return isa<BlockArgument>(right) || right.getDefiningOp<bufferization::ToTensorOp>();
}

std::string TileScheduler::refusalOf(const CpuSchedule &schedule) const {
  bool isOpen = loops.isOpen(parallel.back());
  int64_t columns = isOpen ? kMaxVectors * loops.lanes() : loops.ranges[parallel.back()];
  if (schedule.columns < 1 || schedule.columns > columns)
    return "columns: expected 1 to " + std::to_string(columns) +
           (columns < loops.form.packing.features ? ", which the weights are packed by" : "");
  if (!row && schedule.rows > 1)
    return "rows: expected 1, since no two rows share an operand";
  if (row && !loops.isOpen(*row) && schedule.rows > loops.ranges[*row])
    return "rows: expected at most the " + std::to_string(loops.ranges[*row]) + " there are";
  if (row && isFeatureBlock(anchor, *row) && loops.ranges[*row] % schedule.rows != 0)
    return "rows: expected a divisor of " + std::to_string(loops.ranges[*row]);
  return refusalOfRest(schedule);
}

std::string TileScheduler::refusalIfPacked(const CpuSchedule &schedule) const {
  FeatureTiles all;
  all.features = loops.form.packing.features;
  if (std::string reason = all.refusalOf(schedule.columns); !reason.empty())
    return "columns: " + reason;
  // Packed by one column, weights lie along the reduced dimension: a product has no tiles then.
  if (schedule.columns == 1)
    return "columns: expected at least 2";
  int64_t blocks = all.features / schedule.columns;
  bool isSingleRow = !row || isFeatureBlock(anchor, *row);
  if (isSingleRow && blocks % schedule.rows != 0)
    return "rows: expected a divisor of " + std::to_string(blocks);
  return refusalOfRest(schedule);
}

/// Rejections that do not depend on how the weights are packed.
std::string TileScheduler::refusalOfRest(const CpuSchedule &schedule) const {
  if (schedule.rows < 1 || schedule.rows * vectorsOf(schedule.columns) > kMaxVectors)
    return "rows: expected at least 1, and a tile of at most " + std::to_string(kMaxVectors) +
           " vectors";
  if (schedule.cells < 1)
    return "cells: expected at least 1";
  if (schedule.pack > 1)
    return "pack: expected 0 or 1";
  if (!schedule.pack && liesAlongSum(loops))
    return "pack: expected 1, since the right-hand operand is contiguous along the reduction";
  if (schedule.pack && (!byColumns || anchor != loops.contents.root))
    return "pack: expected 0, since only the right-hand operand of a plain matmul can be copied";
  if (schedule.features > 1)
    return "features: expected 0 or 1";
  if (schedule.features && !byColumns)
    return "features: expected 0, since no weights are used by several rows";
  if (schedule.prefetch > kMaxPanelsAhead)
    return "prefetch: expected 0 to " + std::to_string(kMaxPanelsAhead);
  if (schedule.prefetch && !prefetchesPanels())
    return "prefetch: expected 0, since it reads no weights from memory";
  if (schedule.order > 1)
    return "order: expected 0 or 1";
  if (schedule.order && !byColumns)
    return "order: expected 0, since rows share no panels of columns";
  if (schedule.order && schedule.pack)
    return "order: expected 0, since panels that are copied are used by all rows";
  return refusalOfDepth(schedule.depth);
}

std::string TileScheduler::refusalOfDepth(int64_t depth) const {
  if (depth == 0)
    return "";
  std::optional<int64_t> split = splitReduction();
  if (!split)
    return "depth: expected 0, since other stages use each tile's result at once";
  int64_t terms = loops.ranges[*split];
  if (depth < 1 || (!loops.isOpen(*split) && depth >= terms))
    return "depth: expected 0 (all), or less than the " + std::to_string(terms) + " terms";
  return "";
}

/// The longest reduction, which can be computed in parts if nothing else is in the kernel: partial
/// sums are kept in the result.
std::optional<int64_t> TileScheduler::splitReduction() const {
  if (loops.contents.ops.size() != 1 || anchor != loops.contents.root)
    return std::nullopt;
  std::optional<int64_t> longest;
  for (auto [dim, kind] : llvm::enumerate(loops.iterators))
    if (kind == IteratorType::reduction && (!longest || loops.hints[dim] > loops.hints[*longest]))
      longest = dim;
  return longest;
}

TileScheduler::Tile TileScheduler::tileOf(const CpuSchedule &schedule) const {
  Tile tile;
  tile.grid.assign(loops.ranges.size(), 0);
  tile.sizes.assign(loops.ranges.size(), 0);
  for (int64_t dim : parallel)
    tile.sizes[dim] = 1;
  tile.sizes[parallel.back()] = schedule.columns;
  if (row)
    tile.sizes[*row] = schedule.rows;
  tile.outermost = parallel;
  if (schedule.features)
    std::stable_partition(tile.outermost.begin(), tile.outermost.end(),
                          [&](int64_t dim) { return isFeatureBlock(anchor, dim); });
  chooseGrid(tile, schedule.cells);
  return tile;
}

void TileScheduler::write(const CpuSchedule &schedule, StepWriter &steps) const {
  Tile tile = tileOf(schedule);
  // Features outermost, rows innermost: a tile's weights are used by all rows of the cell.
  int64_t feature = parallel.back();
  SmallVector<int64_t> order;
  for (int64_t dim : llvm::reverse(parallel))
    if (dim != feature && (!row || dim != *row) && isFeatureBlock(anchor, dim))
      order.push_back(dim);
  for (int64_t dim : parallel)
    if (dim != feature && (!row || dim != *row) && !llvm::is_contained(order, dim))
      order.push_back(dim);
  if (row)
    order.push_back(*row);
  order.push_back(feature);
  std::string panelLoop = writeTiles(tile, order, schedule, steps);
  if (schedule.pack && !panelLoop.empty())
    steps.pack(anchor, sourceName(anchor->getOperand(1)), panelLoop);
  // Panels that recipes do not speak of are fetched as far ahead as this.
  if (prefetchesPanels() && schedule.prefetch != kPanelsAhead)
    steps.prefetch(anchor, sourceName(anchor->getOperand(1)), schedule.prefetch);
}

/// Whether a cell has all rows of a few features, so that each weight comes from beyond the core's
/// own cache once, rather than all features of a few rows, which is the same for the image.
bool TileScheduler::featuresComeFirst(const CpuSchedule &schedule) const {
  if (!byColumns)
    return false;
  double image = operandBytes(0), weights = operandBytes(1);
  double core = loops.machine.rates.coreCacheBytes;
  auto cellsAlong = [&](bool features) {
    CpuSchedule other = schedule;
    other.features = features;
    Tile tile = tileOf(other);
    double cells = 1;
    for (int64_t dim : parallel)
      if (tile.grid[dim] && isFeatureBlock(anchor, dim) == features)
        cells *=
            std::ceil(static_cast<double>(loops.hints[dim]) / static_cast<double>(tile.grid[dim]));
    return cells;
  };
  auto moved = [&](double read, double again, double cells) {
    return read + again * (again + read / cells > core ? cells : 1);
  };
  return moved(weights, image, cellsAlong(true)) < moved(image, weights, cellsAlong(false));
}

/// The bytes of an operand of the reduction, with size hints for dynamic dimensions.
double TileScheduler::operandBytes(unsigned operand) const {
  linalg::GenericOp op = anchor;
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  auto bytes = static_cast<double>(loops.elementBytes);
  for (auto [size, expr] :
       llvm::zip(type.getShape(), op.getIndexingMapsArray()[operand].getResults())) {
    int64_t hint = ShapedType::isDynamic(size) ? 1 : size;
    for (size_t dim = 0; ShapedType::isDynamic(size) && dim < loops.hints.size(); ++dim)
      if (expr.isFunctionOfDim(dim))
        hint = std::max(hint, loops.hints[dim]);
    bytes *= static_cast<double>(hint);
  }
  return bytes;
}

/// Panels of the right-hand side are copied if their rows lie so far apart that the copy is less
/// than what finding them costs, over and over, all tiles of rows.
bool TileScheduler::packingPays(const Tile &tile) const {
  constexpr int64_t kWorthwhileUses = 8;
  if (!byColumns || anchor != loops.contents.root)
    return false;
  if (liesAlongSum(loops))
    return true;
  int64_t spanned = 0;
  for (auto [dim, kind] : llvm::enumerate(loops.iterators))
    if (kind == IteratorType::reduction)
      spanned +=
          (loops.hints[dim] - 1) * distanceAlong(anchor, /*operand=*/1, dim) * loops.elementBytes;
  int64_t rows = tile.grid[*row] ? tile.grid[*row] : loops.hints[*row];
  Value right = linalg::GenericOp(anchor)->getOperand(1);
  bool isInput = isa<BlockArgument>(right) || right.getDefiningOp<bufferization::ToTensorOp>();
  return isInput && spanned > loops.machine.translatedBytes &&
         rows >= kWorthwhileUses * tile.sizes[*row];
}

/// The root's cells, loops and register tile; everything else is computed tile by tile. Returns
/// the loop inside which all rows of a cell use the same columns, if those come first.
std::string TileScheduler::writeTiles(const Tile &tile, ArrayRef<int64_t> order,
                                      const CpuSchedule &schedule, StepWriter &steps) const {
  Operation *root = loops.contents.root;
  SmallVector<std::string> grid, outer, inTile;
  std::string panelLoop;
  for (int64_t dim : tile.outermost) {
    if (tile.grid[dim] == 0)
      continue;
    std::string axis = axisName(root, dim);
    if (tile.grid[dim] > 1)
      steps.split(root, axis, tile.grid[dim], axis + ".g", axis + ".c");
    grid.push_back(tile.grid[dim] > 1 ? axis + ".g" : axis);
  }
  for (int64_t dim : order) {
    std::string axis = axisName(root, dim);
    int64_t size = tile.sizes[dim], cell = tile.grid[dim];
    std::string inside = cell > 1 ? axis + ".c" : axis;
    if (cell == 1)
      continue;
    if (size == 1) {
      outer.push_back(inside);
    } else if (size == (cell ? cell : loops.ranges[dim]) && !leavesRemainder(dim, size)) {
      inTile.push_back(inside);
    } else {
      steps.split(root, inside, size, axis + ".o", axis + ".t");
      bool comesFirst = byColumns && dim == order.back() && !schedule.order;
      if (comesFirst)
        panelLoop = axis + ".o";
      outer.insert(comesFirst && !outer.empty() ? outer.end() - 1 : outer.end(), axis + ".o");
      inTile.push_back(axis + ".t");
    }
  }
  std::string place = outer.empty() ? (grid.empty() ? "" : grid.back()) : outer.back();
  SmallVector<std::string> reductions = reductionAxes(root), parts;
  if (schedule.depth) {
    std::string axis = axisName(root, *splitReduction());
    steps.split(root, axis, schedule.depth, axis + ".p", axis + ".s");
    parts.push_back(axis + ".p");
    *llvm::find(reductions, axis) = axis + ".s";
  }
  steps.reorder(root,
                llvm::to_vector(llvm::concat<std::string>(grid, parts, outer, reductions, inTile)));
  for (const std::string &axis : grid)
    steps.parallel(root, axis);
  steps.registerTile(root, inTile);
  for (Operation *op : llvm::reverse(loops.contents.ops)) {
    if (op == root)
      continue;
    steps.computeAt(op, root, place);
    // Its axes next to the root's: those of the tile innermost.
    auto generic = cast<linalg::GenericOp>(op);
    SmallVector<std::string> single, kept;
    for (unsigned dim = 0; dim < generic.getNumLoops(); ++dim)
      if (generic.getIteratorTypesArray()[dim] == IteratorType::parallel)
        (tile.sizes[dim] > 1 ? kept : single).push_back(axisName(op, dim));
    SmallVector<std::string> reduced = reductionAxes(op);
    steps.reorder(op, llvm::to_vector(llvm::concat<std::string>(single, reduced, kept)));
    steps.registerTile(op, kept);
  }
  if (!panelLoop.empty())
    return panelLoop;
  // A cell of several matrices uses one at a time.
  for (const std::string &loop : llvm::reverse(outer))
    if (!row || loop != axisName(root, *row) + ".o")
      return loop;
  return grid.empty() ? "" : grid.back();
}

bool TileScheduler::leavesRemainder(int64_t dim, int64_t tile) const {
  return loops.isOpen(dim) || loops.ranges[dim] % tile != 0;
}

/// A number of cells, at least `least`, that divides `count` and has a factor as large as a power
/// of two can be: batches often are, and kernels run image by image only if images are whole cells.
static int64_t evenCells(int64_t count, int64_t least) {
  auto even = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(least)));
  even = std::min(even, count & -count);
  for (int64_t cells = least; cells < 2 * least; ++cells)
    if (count % cells == 0 && cells % even == 0)
      return cells;
  return least;
}

/// Cells from the outermost dimension inwards until there are enough of them.
void TileScheduler::chooseGrid(Tile &tile, int64_t wantedCells) const {
  int64_t feature = parallel.back();
  // Cells of some rows and all features if that keeps the weights in the core's own cache, and the
  // rows would not stay there.
  double core = loops.machine.rates.coreCacheBytes;
  bool rowsFirst = byColumns && operandBytes(0) > core && operandBytes(1) < core / 2;
  SmallVector<int64_t> candidates, later;
  for (int64_t dim : tile.outermost)
    if (dim != feature && (!row || dim != *row))
      (rowsFirst && isFeatureBlock(anchor, dim) ? later : candidates).push_back(dim);
  if (byColumns)
    (rowsFirst ? later : candidates).push_back(feature);
  if (row)
    candidates.push_back(*row);
  llvm::append_range(candidates, later);
  if (!byColumns)
    candidates.push_back(feature);
  int64_t cells = 1;
  for (int64_t dim : candidates) {
    if (cells >= wantedCells && !ShapedType::isDynamic(loops.ranges[dim]))
      break;
    int64_t unit = tile.sizes[dim];
    if (ShapedType::isDynamic(loops.ranges[dim])) {
      tile.grid[dim] = unit;
      cells *= std::max<int64_t>(1, loops.hints[dim] / unit);
      continue;
    }
    int64_t count = (loops.ranges[dim] + unit - 1) / unit;
    int64_t wanted = (2 * wantedCells + cells - 1) / cells;
    int64_t group = std::max<int64_t>(1, count / wanted);
    while (!leavesRemainder(dim, unit) && count % group != 0)
      --group; // whole cells if there can be
    if (rowsFirst && dim == *row && count % group == 0)
      group = count / evenCells(count, count / group);
    if (count == 1)
      continue;
    tile.grid[dim] = unit * group;
    cells *= count / group;
  }
}

/// The dimension of which several elements share what is read along the features.
std::optional<int64_t> TileScheduler::findRow() const {
  SmallVector<AffineMap> maps = linalg::GenericOp(anchor).getIndexingMapsArray();
  ArrayRef<int64_t> candidates = ArrayRef(parallel).drop_back();
  auto isStatic = [&](int64_t dim) { return !ShapedType::isDynamic(loops.ranges[dim]); };
  auto find = [&](llvm::function_ref<bool(int64_t)> accepts) -> std::optional<int64_t> {
    for (int64_t dim : llvm::reverse(candidates))
      if (accepts(dim))
        return dim;
    return std::nullopt;
  };
  if (isContraction(anchor)) {
    int64_t many = (rowsInRegisters(proposeColumns(std::nullopt)) + 1) / 2;
    auto sharesWeights = [&](int64_t dim) {
      return maps[0].isFunctionOfDim(dim) && !maps[1].isFunctionOfDim(dim);
    };
    // Of a known number if these use most registers, else of an open one; a batch of two comes
    // last.
    if (auto dim = find([&](int64_t dim) {
          return isStatic(dim) && loops.ranges[dim] >= many && sharesWeights(dim);
        }))
      return dim;
    if (auto dim = find([&](int64_t dim) { return !isStatic(dim) && sharesWeights(dim); }))
      return dim;
    if (auto dim = find(sharesWeights))
      return dim;
    if (auto dim = find([&](int64_t dim) { return isStatic(dim) && isFeatureBlock(anchor, dim); }))
      return dim;
  }
  return find(isStatic);
}

} // namespace headrace
