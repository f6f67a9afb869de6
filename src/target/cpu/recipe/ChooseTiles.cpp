#include "target/cpu/recipe/ChooseTiles.h"

#include "target/cpu/recipe/KernelShape.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

class TileChooser {
public:
  explicit TileChooser(RecipeDraft &draft)
      : draft(draft), anchor(draft.contents.reductions.front()) {
    for (auto [dim, kind] : llvm::enumerate(draft.iterators))
      if (kind == IteratorType::parallel)
        parallel.push_back(dim);
  }

  bool choose() {
    if (parallel.empty() || ShapedType::isDynamic(draft.ranges[parallel.back()]) ||
        !readsAlong(anchor, parallel.back()) || hasDynamicReduction(anchor))
      return false;
    Tile tile;
    tile.grid.assign(draft.ranges.size(), 0);
    tile.sizes.assign(draft.ranges.size(), 0);
    for (int64_t dim : parallel)
      tile.sizes[dim] = 1;
    int64_t feature = parallel.back();
    int64_t width = chooseFeatureTile(draft.lanes(), draft.ranges[feature]);
    // Full vectors with something left over beat a divisor that leaves lanes idle.
    if (width < draft.lanes() && draft.ranges[feature] > 2 * draft.lanes())
      width = 2 * draft.lanes();
    tile.sizes[feature] = width;
    int64_t vectors = (width + draft.lanes() - 1) / draft.lanes();

    std::optional<int64_t> row = rowDim();
    if (row) {
      int64_t most =
          std::clamp<int64_t>((draft.machine.vectorRegisters - 1 - vectors) / vectors, 1, 14);
      if (!isContraction(anchor))
        most = std::max<int64_t>(1, draft.machine.vectorRegisters / (4 * vectors));
      most = std::min(most, rowsHeld(draft.machine, anchor, *row, draft.elementBytes));
      tile.sizes[*row] = rowTile(draft.ranges[*row], most, /*even=*/isFeatureBlock(anchor, *row));
    }
    // A plain matrix on the right: columns outermost, so that all rows of the cell use a panel.
    bool byColumns = row && isContraction(anchor) && isFeatureBlock(anchor, feature) &&
                     !isFeatureBlock(anchor, *row);
    chooseGrid(tile, row, byColumns);
    // Features outermost, rows innermost: a tile's weights are used by all rows of the cell.
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
    std::string panelLoop = writeTiles(tile, order, byColumns);
    if (byColumns && anchor == draft.contents.root && !panelLoop.empty())
      packPanels(tile, *row, panelLoop);
    return true;
  }

private:
  struct Tile {
    SmallVector<int64_t> grid;  // per dimension of the root: size of a grid cell; 0: all of it
    SmallVector<int64_t> sizes; // the register tile inside a cell
  };

  /// Panels of the right side are copied where their rows lie so far apart that the copy is less
  /// than what finding them costs, over and over, all tiles of rows.
  void packPanels(const Tile &tile, int64_t row, const std::string &loop) {
    constexpr int64_t kWorthwhileUses = 8;
    int64_t spanned = 0;
    for (auto [dim, kind] : llvm::enumerate(draft.iterators))
      if (kind == IteratorType::reduction)
        spanned += (draft.ranges[dim] - 1) * distanceAlong(anchor, /*operand=*/1, dim) *
                   draft.elementBytes;
    int64_t rows = tile.grid[row] ? tile.grid[row] : draft.nominal[row];
    bool isInput = isa<BlockArgument>(anchor->getOperand(1)) ||
                   anchor->getOperand(1).getDefiningOp<bufferization::ToTensorOp>();
    if (isInput && spanned > draft.machine.translatedBytes &&
        rows >= kWorthwhileUses * tile.sizes[row])
      draft.write.pack(anchor, sourceName(anchor->getOperand(1)), loop);
  }

  /// The root's cells, loops and register tile; everything else is computed tile by tile. Returns
  /// the loop inside which all rows of a cell use the same columns, where those come first.
  std::string writeTiles(const Tile &tile, ArrayRef<int64_t> order, bool byColumns) {
    Operation *root = draft.contents.root;
    SmallVector<std::string> grid, loops, inTile;
    std::string panelLoop;
    for (size_t dim = 0; dim < draft.ranges.size(); ++dim) {
      if (draft.iterators[dim] != IteratorType::parallel || tile.grid[dim] == 0)
        continue;
      std::string axis = axisName(root, dim);
      if (tile.grid[dim] > 1)
        draft.write.split(root, axis, tile.grid[dim], axis + ".g", axis + ".c");
      grid.push_back(tile.grid[dim] > 1 ? axis + ".g" : axis);
    }
    for (int64_t dim : order) {
      std::string axis = axisName(root, dim);
      int64_t size = tile.sizes[dim], cell = tile.grid[dim];
      std::string inside = cell > 1 ? axis + ".c" : axis;
      if (cell == 1)
        continue;
      if (size == 1) {
        loops.push_back(inside);
      } else if (size == (cell ? cell : draft.ranges[dim]) && !leavesRemainder(dim, size)) {
        inTile.push_back(inside);
      } else {
        draft.write.split(root, inside, size, axis + ".o", axis + ".t");
        bool comesFirst = byColumns && dim == order.back();
        if (comesFirst)
          panelLoop = axis + ".o";
        loops.insert(comesFirst && !loops.empty() ? loops.end() - 1 : loops.end(), axis + ".o");
        inTile.push_back(axis + ".t");
      }
    }
    std::string place = loops.empty() ? (grid.empty() ? "" : grid.back()) : loops.back();
    SmallVector<std::string> reductions = reductionAxes(root);
    draft.write.reorder(
        root, llvm::to_vector(llvm::concat<std::string>(grid, loops, reductions, inTile)));
    for (const std::string &axis : grid)
      draft.write.parallel(root, axis);
    draft.write.registerTile(root, inTile);
    for (Operation *op : llvm::reverse(draft.contents.ops)) {
      if (op == root)
        continue;
      draft.write.computeAt(op, root, place);
      // Its axes beside the root's: those of the tile innermost.
      auto generic = cast<linalg::GenericOp>(op);
      SmallVector<std::string> single, kept;
      for (unsigned dim = 0; dim < generic.getNumLoops(); ++dim)
        if (generic.getIteratorTypesArray()[dim] == IteratorType::parallel)
          (tile.sizes[dim] > 1 ? kept : single).push_back(axisName(op, dim));
      SmallVector<std::string> reduced = reductionAxes(op);
      draft.write.reorder(op, llvm::to_vector(llvm::concat<std::string>(single, reduced, kept)));
      draft.write.registerTile(op, kept);
    }
    return panelLoop.empty() && !grid.empty() ? grid.back() : panelLoop;
  }

  bool leavesRemainder(int64_t dim, int64_t tile) const {
    return ShapedType::isDynamic(draft.ranges[dim]) || draft.ranges[dim] % tile != 0;
  }

  /// Cells from the outermost dimension inwards until there are enough of them.
  void chooseGrid(Tile &tile, std::optional<int64_t> row, bool byColumns) const {
    int64_t feature = parallel.back();
    SmallVector<int64_t> candidates;
    for (int64_t dim : parallel)
      if (dim != feature && (!row || dim != *row))
        candidates.push_back(dim);
    if (byColumns)
      candidates.push_back(feature);
    if (row)
      candidates.push_back(*row);
    if (!byColumns)
      candidates.push_back(feature);
    int64_t cells = 1;
    for (int64_t dim : candidates) {
      if (cells >= RecipeDraft::kWantedCells && !ShapedType::isDynamic(draft.ranges[dim]))
        break;
      int64_t unit = tile.sizes[dim];
      if (ShapedType::isDynamic(draft.ranges[dim])) {
        tile.grid[dim] = unit;
        cells *= std::max<int64_t>(1, draft.nominal[dim] / unit);
        continue;
      }
      int64_t count = (draft.ranges[dim] + unit - 1) / unit;
      int64_t wanted = (2 * RecipeDraft::kWantedCells + cells - 1) / cells;
      int64_t group = std::max<int64_t>(1, count / wanted);
      while (!leavesRemainder(dim, unit) && count % group != 0)
        --group; // whole cells where there can be
      if (count == 1)
        continue;
      tile.grid[dim] = unit * group;
      cells *= count / group;
    }
  }

  /// The dimension of which several elements share what is read along the features.
  std::optional<int64_t> rowDim() {
    SmallVector<AffineMap> maps = anchor.getIndexingMapsArray();
    ArrayRef<int64_t> candidates = ArrayRef(parallel).drop_back();
    auto isStatic = [&](int64_t dim) { return !ShapedType::isDynamic(draft.ranges[dim]); };
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

  RecipeDraft &draft;
  linalg::GenericOp anchor;
  SmallVector<int64_t> parallel; // dimensions of the root; the last are the features
};

} // namespace

bool chooseTiles(RecipeDraft &draft) { return TileChooser(draft).choose(); }

} // namespace headrace
