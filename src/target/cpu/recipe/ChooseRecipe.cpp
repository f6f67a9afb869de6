#include "target/cpu/recipe/ChooseRecipe.h"

#include "analysis/OperatorWork.h"
#include "target/cpu/recipe/ChooseTiles.h"
#include "target/cpu/recipe/KernelShape.h"
#include "target/cpu/recipe/RecipeDraft.h"
#include "transform/kernels/KernelShapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

constexpr int64_t kElementwiseCell = 8192;

class RecipeChooser : RecipeDraft {
public:
  RecipeChooser(func::FuncOp kernel, const Machine &machine)
      : RecipeDraft{KernelContents::of(kernel), machine, {}, {}, {}, {}} {
    for (Operation *op : contents.ops)
      for (Type type : op->getOperandTypes()) {
        Type element = getElementTypeOrSelf(type);
        if (!element.isIntOrFloat())
          continue;
        unsigned bits = element.getIntOrFloatBitWidth();
        // Vectors of booleans are packed bits in registers and bytes in memory: kept scalar.
        vectorizable &= bits >= 8;
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
    NominalSizes sizes = nominalSizes(root);
    for (AffineExpr size : loopSizes(root))
      nominal.push_back(size ? headrace::nominal(size, sizes) : NominalSizes::kDefault);
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
    if (contents.reductions.size() != 1 || !chooseTiles(*this))
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
      cells *= nominal[dim];
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

  /// A transposition: operands are contiguous along `across` and read in vectors along it, which a
  /// square tile in registers transposes.
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

  /// All other stages are computed inside that loop of the root, consumers first.
  void computeInside(const std::string &loop) {
    for (Operation *op : llvm::reverse(contents.ops))
      if (op != contents.root)
        write.computeAt(op, contents.root, loop);
  }

  //===------------------------------------------------------------------------===//
  // Choices
  //===------------------------------------------------------------------------===//

  /// A vector length for a dimension of known size.
  int64_t vectorLength(int64_t size) const {
    if (size <= 4 * lanes())
      return std::max<int64_t>(size, 1);
    for (int64_t multiple : {4, 2, 1})
      if (size % (multiple * lanes()) == 0)
        return multiple * lanes();
    return 2 * lanes();
  }

  //===------------------------------------------------------------------------===//
  // Properties of the kernel
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

  bool vectorizable = true;
};

} // namespace

Recipe chooseCpuRecipe(func::FuncOp kernel, const Machine &machine) {
  return RecipeChooser(kernel, machine).choose();
}

} // namespace headrace
