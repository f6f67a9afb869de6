// From linalg over whole tensors to loops over tiles:
//
//   C: tile i j by 6 16 ; C: reorder i.o j.o k i.i j.i ; C: unroll i.i ; C: vectorize j.i
//
//   scf.for %i { scf.for %j { scf.for %k { vectors of 6x16 } } }
//
// Parallel loops become one `scf.forall`, the kernel's grid. Every serial loop outside the register
// tile tiles its axis; producers that hang at it or further inside are fused along. If tiles
// are not all of one size, loops are peeled, so that whole tiles have constant sizes and can be
// vectors.
#include "transform/recipe/Lowering.h"

#include "runtime/system/Error.h"
#include "transform/recipe/Packing.h"
#include "transform/recipe/Rewriting.h"
#include "transform/recipe/ShiftedParts.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

class NestBuilder {
public:
  NestBuilder(func::FuncOp kernel, const LoopModel &model)
      : kernel(kernel), model(model.withWholeCells()), rewriter(kernel.getContext()) {}

  void build() {
    insertCopies(rewriter, kernel, model);
    computePartsApart(rewriter, kernel, model);
    const Stage *root = nullptr;
    for (const Stage &stage : model.getStages())
      if (!stage.place)
        root = &stage;
    if (!root || findStages(*root).empty())
      return;
    buildNest(*root);
    finish();
  }

private:
  using Ops = SmallVector<TilingInterface>;

  //===------------------------------------------------------------------------===//
  // Nests
  //===------------------------------------------------------------------------===//

  /// All copies of a stage, then of the stages computed inside it, consumers first. Reductions
  /// that end at the register tile come after remainders: their accumulators are known by then.
  void buildNest(const Stage &stage) {
    size_t grid = stage.parallelLoops(), end = stage.tileBegin(), reductions = end;
    for (TilingInterface op : findStages(stage)) {
      if (grid > 0)
        op = tile(stage, op, 0, grid, /*isGrid=*/true).op;
      if (stage.intrinsic.empty() && !stage.isVectorized())
        end = reductions = leaveToOperation(stage, op);
    }
    while (stage.isVectorized() && reductions > grid && endsInTile(stage, reductions - 1))
      --reductions;
    for (TilingInterface op : findStages(stage))
      buildLoops(stage, op, grid, reductions);
    cleanUp(kernel);
    if (stage.isVectorized() && stage.isReduction(stage.loops.back())) {
      for (TilingInterface op : findStages(stage))
        reduceVectors(stage, op);
    } else if (stage.isVectorized()) {
      walkRemainders(stage, reductions);
      // The innermost of them waits until unit dimensions are gone, to become a product or a sum of
      // vectors. A reduction with a function of its own is a map of vectors once it is a unit
      // itself.
      if (reductions < end && stage.reorderable && isPlainReduction(stage, stage.loops[end - 1])) {
        waiting.push_back(&stage);
        --end;
      }
      for (TilingInterface op : findStages(stage))
        buildLoops(stage, op, reductions, end);
    }
    for (const Stage &inner : llvm::reverse(model.getStages()))
      if (inner.place && inner.place->stage == stage.name)
        buildNest(inner);
  }

  /// Makes the serial loops [begin, end), outermost first.
  void buildLoops(const Stage &stage, TilingInterface op, size_t begin, size_t end) {
    SmallVector<MadeLoop> made;
    while (begin < end) {
      size_t next = groupEnd(stage, begin, end);
      Tiled tiled = tile(stage, op, begin, next, /*isGrid=*/false);
      op = tiled.op;
      llvm::append_range(made, tiled.loops);
      begin = next;
    }
    for (const Stage::Pack &pack : stage.packs)
      if (static_cast<size_t>(stage.findLoop(pack.loop)) < end)
        packOperand(rewriter, op, stage, pack, made);
    for (auto [loop, position] : llvm::reverse(made))
      if (stage.loops[position].kind == Loop::Kind::Unrolled)
        (void)loopUnrollByFactor(loop, *stage.loops[position].parts[0].extent);
      else if (stage.isVectorized() && needsPeeling(stage, stage.loops[position]))
        setRemainderApart(rewriter, loop, stage.knownRemainder(stage.loops[position]));
  }

  struct Tiled {
    TilingInterface op;
    SmallVector<MadeLoop> loops;
  };

  /// Makes the loops [begin, end) of a stage around an operation.
  Tiled tile(const Stage &stage, TilingInterface op, size_t begin, size_t end, bool isGrid) {
    SmallVector<int64_t> sizes(op.getLoopIteratorTypes().size(), 0), order;
    SmallVector<size_t> positions;
    bool reduction = false;
    for (size_t i = begin; i < end; ++i)
      for (const LoopPart &part : stage.loops[i].parts) {
        std::optional<unsigned> dim = axisDim(op, stage.axes[part.axis].name);
        if (!dim)
          continue; // a single point
        reduction |= stage.axes[part.axis].reduction;
        if (llvm::is_contained(order, *dim)) {
          sizes[*dim] = part.step; // a grid of parts of one axis is a finer grid
          continue;
        }
        sizes[*dim] = part.step;
        order.push_back(*dim);
        positions.push_back(i);
      }
    if (order.empty())
      return {op, {}};
    auto fuses = [&](Operation *producer, bool isDestination) {
      if (stageOf(producer).empty())
        return false;
      if (isa<linalg::FillOp>(producer) && stageOf(producer) == stage.name)
        return !reduction;
      std::optional<int> at = positionOf(producer, stage);
      return at && *at >= static_cast<int>(end) - 1;
    };
    FusedTile fused = tileAndFuse(rewriter, op, sizes, order, isGrid, fuses);
    Tiled result{fused.op, {}};
    if (!isGrid)
      for (auto [loop, position] : llvm::zip(fused.loops, positions))
        result.loops.emplace_back(cast<scf::ForOp>(loop), position);
    return result;
  }

  /// Neighbouring loops over different axes are made together: until something hangs between them.
  size_t groupEnd(const Stage &stage, size_t begin, size_t end) const {
    llvm::SmallDenseSet<int> axes;
    size_t next = begin;
    for (; next < end; ++next) {
      const Loop &loop = stage.loops[next];
      bool repeats = llvm::any_of(
          loop.parts, [&](const LoopPart &part) { return !axes.insert(part.axis).second; });
      bool kindChanges = stage.isReduction(loop) != stage.isReduction(stage.loops[begin]);
      bool somethingHangs = next > begin && hangsAt(stage, stage.loops[next - 1].name);
      if (next > begin && (repeats || kindChanges || somethingHangs))
        break;
    }
    return next;
  }

  bool hangsAt(const Stage &stage, const std::string &loop) const {
    return llvm::any_of(model.getStages(), [&](const Stage &other) {
      return other.place && other.place->stage == stage.name && other.place->loop == loop;
    });
  }

  /// Where the stage of `producer` hangs in the loops of `stage`.
  std::optional<int> positionOf(Operation *producer, const Stage &stage) const {
    std::string name = stageOf(producer).str();
    return model.find(name) ? model.positionInside(name, stage.name) : std::nullopt;
  }

  /// Innermost serial loops of a stage without vectors stay in the operation, in their order;
  /// returns where they begin.
  size_t leaveToOperation(const Stage &stage, TilingInterface op) {
    size_t begin = stage.loops.size();
    SmallVector<int, 4> axes;
    while (begin > stage.parallelLoops()) {
      const Loop &loop = stage.loops[begin - 1];
      if (loop.kind != Loop::Kind::Serial || hangsAt(stage, loop.name))
        break;
      bool inOrder = axes.empty() || loop.parts.back().axis < axes.back();
      if (llvm::any_of(loop.parts, [](const LoopPart &part) { return part.step != 1; }) ||
          !(isa<linalg::GenericOp>(op) || (inOrder && loop.parts.size() == 1)))
        break;
      for (const LoopPart &part : llvm::reverse(loop.parts))
        axes.push_back(part.axis);
      --begin;
    }
    orderLater.emplace_back(&stage, axes);
    return begin;
  }

  /// A reduction's loop of which nothing but the register tile is inside.
  bool endsInTile(const Stage &stage, size_t position) const {
    const Loop &loop = stage.loops[position];
    return loop.kind == Loop::Kind::Serial && stage.isReduction(loop) && loop.parts.size() == 1 &&
           !hangsAt(stage, loop.name);
  }

  /// Not a window, which slides: it is read together with another axis, and gone once it is a unit.
  static bool isPlainReduction(const Stage &stage, const Loop &loop) {
    const LoopPart &part = loop.parts[0];
    return !stage.isRagged(part) && llvm::none_of(stage.reads, [&](const StageRead &read) {
      return llvm::any_of(read.dims, [&](const ReadDim &dim) {
        return dim.terms.size() > 1 &&
               llvm::any_of(dim.terms, [&](auto term) { return term.first == part.axis; });
      });
    });
  }

  //===------------------------------------------------------------------------===//
  // Remainders of tiles (peeling)
  //===------------------------------------------------------------------------===//

  /// Partial tiles are set apart if an axis of the loop is in the register tile too.
  static bool needsPeeling(const Stage &stage, const Loop &loop) {
    return llvm::any_of(loop.parts, [&](const LoopPart &part) {
      bool inTile = false;
      for (size_t i = stage.tileBegin(); i < stage.loops.size(); ++i)
        for (const LoopPart &other : stage.loops[i].parts)
          inTile |= other.axis == part.axis;
      return inTile && stage.isRagged(part);
    });
  }

  /// A reduction keeps its accumulators in registers only if tiles have known sizes. What whole
  /// tiles leave over in an axis of unknown size is cut into ever smaller ones, down to single
  /// elements: one row alone would wait for each of its sums before the next.
  void walkRemainders(const Stage &stage, size_t end) {
    bool reduces = stage.reduces() || llvm::any_of(model.getStages(), [&](const Stage &other) {
                     return other.reduces() && model.positionInside(other.name, stage.name);
                   });
    if (!reduces)
      return;
    for (size_t i = stage.tileBegin(); i < stage.loops.size(); ++i)
      for (const LoopPart &part : stage.loops[i].parts) {
        if (stage.axes[part.axis].reduction || !part.extent)
          continue;
        // Halves of rows; of vectors, which are loops of their own in every tile of rows, quarters.
        bool isVector = stage.loops[i].kind == Loop::Kind::Vectorized;
        int64_t size = llvm::bit_floor(static_cast<uint64_t>(part.step * *part.extent) / 2);
        for (; size > 1; size /= isVector ? 4 : 2)
          cutRemainders(stage, part.axis, size, end);
        cutRemainders(stage, part.axis, 1, end);
      }
  }

  /// Cuts copies of a stage whose size along an axis is not known into tiles of `size`, and sets
  /// apart what these leave over.
  void cutRemainders(const Stage &stage, int axis, int64_t size, size_t end) {
    auto fuses = [&](Operation *producer, bool) {
      if (isa<linalg::FillOp>(producer) && stageOf(producer) == stage.name)
        return true;
      std::optional<int> at = positionOf(producer, stage);
      return at && *at + 1 == static_cast<int>(end);
    };
    bool cut = false;
    for (TilingInterface op : findStages(stage)) {
      auto generic = dyn_cast<linalg::LinalgOp>(op.getOperation());
      auto dim = axisDim(op, stage.axes[axis].name);
      if (!generic || !dim || !ShapedType::isDynamic(generic.getStaticLoopRanges()[*dim]))
        continue;
      SmallVector<int64_t> sizes(generic.getNumLoops(), 0);
      sizes[*dim] = size;
      FusedTile tiled = tileAndFuse(rewriter, op, sizes, {*dim}, /*isGrid=*/false, fuses);
      if (size > 1)
        setRemainderApart(rewriter, cast<scf::ForOp>(tiled.loops.front()), std::nullopt);
      cut = true;
    }
    if (cut && size > 1)
      cleanUp(kernel);
  }

  /// A reduction along the vector: partial results side by side, combined at the end. What is left
  /// over of a size that only the run tells is combined in smaller and smaller vectors.
  void reduceVectors(const Stage &stage, TilingInterface op) {
    constexpr int64_t kSmallest = 4, kMaxBeside = 4;
    const Loop &vector = stage.loops.back();
    const LoopPart &part = vector.parts.front();
    auto dim = axisDim(op, stage.axes[part.axis].name);
    if (!dim || vector.parts.size() > 1)
      return;
    bool isOpen = ShapedType::isDynamic(
        cast<linalg::LinalgOp>(op.getOperation()).getStaticLoopRanges()[*dim]);
    for (int64_t width = part.step * *part.extent; op; width /= 4) {
      auto [whole, rest] = splitOffRemainder(rewriter, op, *dim, width);
      reduceSideBySide(rewriter, whole, *dim, width, kMaxBeside);
      op = isOpen && width / 4 >= kSmallest ? rest : nullptr;
    }
  }

  //===------------------------------------------------------------------------===//
  // Inside the register tile
  //===------------------------------------------------------------------------===//

  void finish() {
    bool hasTiles = llvm::any_of(model.getStages(), [](const Stage &stage) {
      return stage.isVectorized() && stage.reduces() && !stage.isReduction(stage.loops.back());
    });
    tileCopies(rewriter, kernel);
    cleanUp(kernel);
    if (hasTiles) {
      dropUnitDims(rewriter, kernel);
      sliceStridedOperands(kernel);
    }
    for (const Stage *stage : waiting)
      for (TilingInterface op : findStages(*stage)) {
        const LoopPart &part = stage->loops[stage->tileBegin() - 1].parts[0];
        auto dim = axisDim(op, stage->axes[part.axis].name);
        if (!dim)
          continue;
        SmallVector<int64_t> sizes(op.getLoopIteratorTypes().size(), 0);
        sizes[*dim] = part.step;
        tileAndFuse(rewriter, op, sizes, {*dim}, /*isGrid=*/false,
                    [](Operation *, bool) { return false; });
      }
    for (auto &[stage, axes] : orderLater)
      for (TilingInterface op : findStages(*stage))
        orderLoops(op, *stage, axes);
    vectorize(rewriter, kernel, [&](Operation *op) {
      const Stage *stage = model.find(stageOf(op).str());
      return !stage || stage->isVectorized();
    });
    for (const Stage &stage : model.getStages())
      if (!stage.intrinsic.empty())
        for (TilingInterface op : findStages(stage))
          markIntrinsic(op, stage);
  }

  /// Marks the innermost part of the operation, which becomes one call of the intrinsic.
  void markIntrinsic(TilingInterface op, const Stage &stage) {
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    SmallVector<int64_t> dims, ranges;
    if (generic)
      ranges = generic.getStaticLoopRanges();
    auto step = llvm::find_if(model.recipe().steps, [&](const RecipeStep &step) {
      return step.kind == RecipeStep::Kind::Tensorize && step.stage == stage.name;
    });
    for (const std::string &name : step->axes) {
      const Loop &loop = stage.loops[stage.findLoop(name)];
      auto dim = axisDim(op, stage.axes[loop.parts[0].axis].name);
      if (!generic || !dim || ranges[*dim] != *loop.extent())
        throw Error(ErrorKind::InvalidArgument,
                    "'" + step->text() + "': a tile along '" + name + "' is not complete");
      dims.push_back(*dim);
    }
    op->setAttr(kIntrinsicAttr, rewriter.getStringAttr(stage.intrinsic));
    op->setAttr(kIntrinsicDimsAttr, rewriter.getI64ArrayAttr(dims));
  }

  /// Loops that the operation keeps run in the recipe's order.
  void orderLoops(TilingInterface op, const Stage &stage, ArrayRef<int> axes) {
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic)
      return;
    SmallVector<unsigned> order;
    for (unsigned dim = 0; dim < generic.getNumLoops(); ++dim)
      if (llvm::none_of(axes, [&](int axis) { return axisName(op, dim) == stage.axes[axis].name; }))
        order.push_back(dim);
    for (int axis : llvm::reverse(axes))
      if (auto dim = axisDim(op, stage.axes[axis].name))
        order.push_back(*dim);
    if (!llvm::is_sorted(order))
      (void)linalg::interchangeGenericOp(rewriter, generic, order);
  }

  Ops findStages(const Stage &stage) {
    Ops ops;
    kernel.walk([&](TilingInterface op) {
      if (stageOf(op) == stage.name && !isa<linalg::FillOp>(op))
        ops.push_back(op);
    });
    return ops;
  }

  func::FuncOp kernel;
  const LoopModel model;
  IRRewriter rewriter;
  SmallVector<const Stage *> waiting;
  SmallVector<std::pair<const Stage *, SmallVector<int, 4>>> orderLater;
};

} // namespace

void lowerToLoops(func::FuncOp kernel, const LoopModel &model) {
  NestBuilder(kernel, model).build();
}

} // namespace headrace
