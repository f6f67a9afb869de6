#include "target/cpu/ChooseRecipe.h"

#include "target/cpu/KernelShape.h"
#include "target/cpu/StepWriter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

constexpr int64_t kWantedCells = 16; // enough to share evenly among a few threads
constexpr int64_t kAssumedDynamicSize = 8;
constexpr int64_t kElementwiseCell = 8192;

class RecipeChooser {
public:
  RecipeChooser(func::FuncOp kernel, const Machine &machine)
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

  Recipe choose() {
    if (contents.root && !isEmpty())
      chooseSteps();
    return write.take();
  }

private:
  void chooseSteps() {
    auto root = contents.rootGeneric();
    if (!root)
      return padding();
    ranges = root.getStaticLoopRanges();
    iterators = root.getIteratorTypesArray();
    bool onlyGenerics =
        llvm::all_of(contents.ops, [](Operation *op) { return isa<linalg::GenericOp>(op); });
    bool gathers = root.getRegion()
                       .walk([](tensor::ExtractOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
    if (!vectorizable || !onlyGenerics || gathers || ranges.empty())
      return plainLoops();
    if (contents.reductions.empty()) {
      if (contents.ops.size() > 1)
        return plainLoops();
      std::optional<int64_t> dim = readAcross(root);
      return dim ? transposition(*dim) : elementwise();
    }
    if (llvm::all_of(contents.reductions, reducesRows))
      return llvm::all_of(contents.reductions, combinesInAnyOrder) ? rows() : plainLoops();
    if (contents.reductions.size() == 1)
      return tiles();
    plainLoops();
  }

  //===------------------------------------------------------------------------===//
  // Kinds of kernels
  //===------------------------------------------------------------------------===//

  /// Padding is cut into rows; joins and the like run as one piece.
  void padding() {
    if (auto pad = dyn_cast_or_null<tensor::PadOp>(contents.root))
      for (int64_t dim = 0; dim + 2 < pad.getResultType().getRank(); ++dim)
        write.parallel(pad, axisName(pad, dim));
  }

  /// Plain loops, with a grid around them.
  void plainLoops() {
    int64_t cells = 1;
    std::string last;
    for (size_t dim = 0; dim + 1 < ranges.size() && cells < kWantedCells; ++dim) {
      if (iterators[dim] != IteratorType::parallel)
        break;
      last = axisName(contents.root, dim);
      write.parallel(contents.root, last);
      cells *= sizeOrGuess(dim);
    }
    computeInside(last);
  }

  /// One map: vectors along its last dimension.
  void elementwise() {
    Operation *op = contents.root;
    int64_t last = ranges.size() - 1, size = ranges[last], cell = 0, vector = 2 * lanes();
    std::string axis = axisName(op, last), inside = axis;
    if (ShapedType::isDynamic(size)) {
      cell = kElementwiseCell;
    } else {
      vector = vectorLength(size);
      // A long dimension is cut as well, evenly where it can be.
      if (size > 2 * kElementwiseCell) {
        for (int64_t candidate = kElementwiseCell * 2; candidate >= kElementwiseCell / 4 && !cell;
             candidate -= vector)
          if (size % candidate == 0 && candidate % vector == 0)
            cell = candidate;
        if (size % vector != 0 || cell == 0)
          cell = kElementwiseCell;
      }
    }
    for (int64_t dim = 0; dim < last; ++dim)
      write.parallel(op, axisName(op, dim));
    if (cell) {
      write.split(op, axis, cell, axis + ".g", axis + ".c");
      write.parallel(op, axis + ".g");
      inside = axis + ".c";
    }
    write.vectors(op, inside, vector, axis, cell ? cell : size);
  }

  /// What lies along `across` in memory is read in vectors, which a square tile turns around.
  void transposition(int64_t across) {
    Operation *op = contents.root;
    int64_t last = ranges.size() - 1;
    SmallVector<std::string> grid, loops, tile;
    for (int64_t dim = 0; dim < last; ++dim)
      if (dim != across)
        grid.push_back(axisName(op, dim));
    for (int64_t dim : {across, last}) {
      std::string axis = axisName(op, dim);
      if (ranges[dim] != lanes()) {
        write.split(op, axis, lanes(), axis + ".o", axis + ".t");
        (dim == across ? grid : loops).push_back(axis + ".o");
      }
      tile.push_back(ranges[dim] != lanes() ? axis + ".t" : axis);
    }
    write.reorder(op, llvm::to_vector(llvm::concat<std::string>(grid, loops, tile)));
    for (const std::string &axis : grid)
      write.parallel(op, axis);
    write.registerTile(op, tile);
  }

  /// Maps and reductions over rows that stay in cache.
  void rows() {
    Operation *root = contents.root;
    int64_t length = contents.reductions.front().getStaticLoopRanges().back();
    bool oneRowAxis = llvm::all_of(contents.reductions, [&](linalg::GenericOp op) {
      return op.getNumReductionLoops() == 1 && op.getStaticLoopRanges().back() == length;
    });
    std::string last;
    SmallVector<std::string> grid, rest;
    for (size_t dim = 0; dim < ranges.size(); ++dim)
      if (iterators[dim] == IteratorType::reduction || isRowDim(dim, length))
        rest.push_back(axisName(root, dim));
      else
        grid.push_back(last = axisName(root, dim));
    if (rest.size() == 1 && rest.front() != axisName(root, ranges.size() - 1))
      write.reorder(root, llvm::to_vector(llvm::concat<std::string>(grid, rest)));
    for (const std::string &axis : grid)
      write.parallel(root, axis);
    computeInside(last);
    if (!oneRowAxis || ShapedType::isDynamic(length))
      return;
    int64_t vector = vectorLength(length);
    for (Operation *op : contents.ops)
      // Values of one element per row need no loop.
      if (auto generic = cast<linalg::GenericOp>(op); walksRow(generic, length)) {
        std::string axis = axisName(op, generic.getNumLoops() - 1);
        write.vectors(op, axis, vector, axis, length);
      }
  }

  struct Tile {
    SmallVector<int64_t> grid;  // per dimension of the root: size of a grid cell; 0: all of it
    SmallVector<int64_t> sizes; // the register tile inside a cell
  };

  /// Contractions, convolutions, windows: a register tile carried over the reduction.
  void tiles() {
    linalg::GenericOp anchor = contents.reductions.front();
    SmallVector<int64_t> parallel;
    for (auto [dim, kind] : llvm::enumerate(iterators))
      if (kind == IteratorType::parallel)
        parallel.push_back(dim);
    if (parallel.empty() || ShapedType::isDynamic(ranges[parallel.back()]) ||
        !readsAlong(anchor, parallel.back()) || hasDynamicReduction(anchor))
      return plainLoops();

    Tile tile;
    tile.grid.assign(ranges.size(), 0);
    tile.sizes.assign(ranges.size(), 0);
    for (int64_t dim : parallel)
      tile.sizes[dim] = 1;
    int64_t feature = parallel.back();
    int64_t width = chooseFeatureTile(lanes(), ranges[feature]);
    // Full vectors with something left over beat a divisor that leaves lanes idle.
    if (width < lanes() && ranges[feature] > 2 * lanes())
      width = 2 * lanes();
    tile.sizes[feature] = width;
    int64_t vectors = (width + lanes() - 1) / lanes();

    std::optional<int64_t> row = rowDim(anchor, parallel);
    if (row) {
      int64_t most = std::clamp<int64_t>((machine.vectorRegisters - 1 - vectors) / vectors, 1, 14);
      if (!isContraction(anchor))
        most = std::max<int64_t>(1, machine.vectorRegisters / (4 * vectors));
      most = std::min(most, rowsHeld(machine, anchor, *row, elementBytes));
      tile.sizes[*row] = rowTile(ranges[*row], most, /*even=*/isFeatureBlock(anchor, *row));
    }
    // A plain matrix on the right: columns outermost, so that all rows of the cell use a panel.
    bool byColumns = row && isContraction(anchor) && isFeatureBlock(anchor, feature) &&
                     !isFeatureBlock(anchor, *row);
    chooseGrid(tile, parallel, feature, row, byColumns);
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
    if (byColumns && anchor == contents.root && !panelLoop.empty())
      packPanels(tile, anchor, *row, panelLoop);
  }

  /// Panels of the right side are copied where their rows lie so far apart that the copy is less
  /// than what finding them costs, over and over, all tiles of rows.
  void packPanels(const Tile &tile, linalg::GenericOp op, int64_t row, const std::string &loop) {
    constexpr int64_t kWorthwhileUses = 8;
    int64_t spanned = 0;
    for (auto [dim, kind] : llvm::enumerate(iterators))
      if (kind == IteratorType::reduction)
        spanned += (ranges[dim] - 1) * distanceAlong(op, /*operand=*/1, dim) * elementBytes;
    int64_t rows = tile.grid[row] ? tile.grid[row] : sizeOrGuess(row);
    bool isInput = isa<BlockArgument>(op->getOperand(1)) ||
                   op->getOperand(1).getDefiningOp<bufferization::ToTensorOp>();
    if (isInput && spanned > machine.translatedBytes && rows >= kWorthwhileUses * tile.sizes[row])
      write.pack(op, sourceName(op->getOperand(1)), loop);
  }

  /// The root's cells, loops and register tile; everything else is computed tile by tile. Returns
  /// the loop inside which all rows of a cell use the same columns, where those come first.
  std::string writeTiles(const Tile &tile, ArrayRef<int64_t> order, bool byColumns) {
    Operation *root = contents.root;
    SmallVector<std::string> grid, loops, inTile;
    std::string panelLoop;
    for (size_t dim = 0; dim < ranges.size(); ++dim) {
      if (iterators[dim] != IteratorType::parallel || tile.grid[dim] == 0)
        continue;
      std::string axis = axisName(root, dim);
      if (tile.grid[dim] > 1)
        write.split(root, axis, tile.grid[dim], axis + ".g", axis + ".c");
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
      } else if (size == (cell ? cell : ranges[dim]) && !leavesRemainder(dim, size)) {
        inTile.push_back(inside);
      } else {
        write.split(root, inside, size, axis + ".o", axis + ".t");
        bool comesFirst = byColumns && dim == order.back();
        if (comesFirst)
          panelLoop = axis + ".o";
        loops.insert(comesFirst && !loops.empty() ? loops.end() - 1 : loops.end(), axis + ".o");
        inTile.push_back(axis + ".t");
      }
    }
    std::string place = loops.empty() ? (grid.empty() ? "" : grid.back()) : loops.back();
    SmallVector<std::string> reductions = reductionAxes(root);
    write.reorder(root,
                  llvm::to_vector(llvm::concat<std::string>(grid, loops, reductions, inTile)));
    for (const std::string &axis : grid)
      write.parallel(root, axis);
    write.registerTile(root, inTile);
    for (Operation *op : llvm::reverse(contents.ops)) {
      if (op == root)
        continue;
      write.computeAt(op, root, place);
      // Its axes beside the root's: those of the tile innermost.
      auto generic = cast<linalg::GenericOp>(op);
      SmallVector<std::string> single, kept;
      for (unsigned dim = 0; dim < generic.getNumLoops(); ++dim)
        if (generic.getIteratorTypesArray()[dim] == IteratorType::parallel)
          (tile.sizes[dim] > 1 ? kept : single).push_back(axisName(op, dim));
      SmallVector<std::string> reduced = reductionAxes(op);
      write.reorder(op, llvm::to_vector(llvm::concat<std::string>(single, reduced, kept)));
      write.registerTile(op, kept);
    }
    return panelLoop.empty() && !grid.empty() ? grid.back() : panelLoop;
  }

  /// All other stages are computed inside that loop of the root, consumers first.
  void computeInside(const std::string &loop) {
    for (Operation *op : llvm::reverse(contents.ops))
      if (op != contents.root)
        write.computeAt(op, contents.root, loop);
  }

  //===------------------------------------------------------------------------===//
  // Choices
  //===------------------------------------------------------------------------===//

  int64_t lanes() const { return machine.lanes(elementBytes); }
  int64_t sizeOrGuess(int64_t dim) const {
    return ShapedType::isDynamic(ranges[dim]) ? kAssumedDynamicSize : ranges[dim];
  }

  /// A vector length for a dimension of known size.
  int64_t vectorLength(int64_t size) const {
    if (size <= 4 * lanes())
      return std::max<int64_t>(size, 1);
    for (int64_t multiple : {4, 2, 1})
      if (size % (multiple * lanes()) == 0)
        return multiple * lanes();
    return 2 * lanes();
  }

  bool leavesRemainder(int64_t dim, int64_t tile) const {
    return ShapedType::isDynamic(ranges[dim]) || ranges[dim] % tile != 0;
  }

  /// Cells from the outermost dimension inwards until there are enough of them.
  void chooseGrid(Tile &tile, ArrayRef<int64_t> parallel, int64_t feature,
                  std::optional<int64_t> row, bool byColumns) const {
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
      if (cells >= kWantedCells && !ShapedType::isDynamic(ranges[dim]))
        break;
      int64_t unit = tile.sizes[dim];
      if (ShapedType::isDynamic(ranges[dim])) {
        tile.grid[dim] = unit;
        cells *= kAssumedDynamicSize;
        continue;
      }
      int64_t count = (ranges[dim] + unit - 1) / unit;
      int64_t wanted = (2 * kWantedCells + cells - 1) / cells;
      int64_t group = std::max<int64_t>(1, count / wanted);
      while (!leavesRemainder(dim, unit) && count % group != 0)
        --group; // whole cells where there can be
      if (count == 1)
        continue;
      tile.grid[dim] = unit * group;
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

  /// Whether the operation walks rows of that length.
  bool walksRow(linalg::GenericOp op, int64_t length) const {
    return op.getNumLoops() > 0 && op.getStaticLoopRanges().back() == length &&
           (op.getNumLoops() >= ranges.size() || op.getNumReductionLoops() > 0);
  }

  bool isRowDim(size_t dim, int64_t length) const {
    return dim + 1 == ranges.size() && ranges[dim] == length;
  }

  /// The dimension along which the only operand lies in memory, where that is not the result's, and
  /// both are cut evenly into squares of vectors.
  std::optional<int64_t> readAcross(linalg::GenericOp op) const {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    int64_t last = ranges.size() - 1;
    if (op.getNumDpsInputs() != 1 || !maps[0].isPermutation() || !maps[1].isIdentity() ||
        elementBytes != 4)
      return std::nullopt;
    int64_t across = cast<AffineDimExpr>(maps[0].getResults().back()).getPosition();
    bool isEven = llvm::all_of(ArrayRef{across, last}, [&](int64_t dim) {
      return !ShapedType::isDynamic(ranges[dim]) && ranges[dim] % lanes() == 0;
    });
    return across != last && isEven ? std::optional(across) : std::nullopt;
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
  StepWriter write;
  SmallVector<int64_t> ranges;
  SmallVector<IteratorType> iterators;
  int64_t elementBytes = 1;
  bool vectorizable = true;
};

} // namespace

Recipe chooseCpuRecipe(func::FuncOp kernel, const Machine &machine) {
  return RecipeChooser(kernel, machine).choose();
}

} // namespace headrace
