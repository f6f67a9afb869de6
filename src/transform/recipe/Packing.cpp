#include "transform/recipe/Packing.h"

#include "runtime/system/Error.h"
#include "transform/recipe/Rewriting.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace headrace {
namespace {

class Packer {
public:
  Packer(RewriterBase &rewriter, linalg::GenericOp op, const Stage &stage, const Stage::Pack &pack,
         ArrayRef<MadeLoop> loops)
      : rewriter(rewriter), op(op), stage(stage), pack(pack), loops(loops) {}

  void run() {
    for (OpOperand *input : op.getDpsInputOperands())
      if (sourceName(input->get()) == pack.source)
        packInput(*input);
  }

private:
  void packInput(OpOperand &input) {
    collectIndexing(input.get());
    size_t position = stage.findLoop(pack.loop);
    for (auto [loop, at] : loops)
      if (at > position) {
        inside.push_back({loop, at});
        if (indexing.contains(loop))
          panels.push_back({loop, at});
      }
    order = readingOrder(input);
    SmallVector<int64_t> shape;
    for (auto [loop, at] : panels)
      shape.push_back(tripsOf(at));
    for (int64_t dim : order)
      shape.push_back(extentOf(input, dim));

    if (inside.empty())
      rewriter.setInsertionPoint(op);
    else
      rewriter.setInsertionPoint(inside.front().first);
    auto type = cast<RankedTensorType>(input.get().getType());
    Value empty = rewriter.create<tensor::EmptyOp>(op.getLoc(), shape, type.getElementType());
    IRMapping mapping;
    Value filled = copyPanels(0, empty, input.get(), mapping);

    rewriter.setInsertionPoint(op);
    Value panel = panelOf(filled, input.get(), IRMapping());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    AffineMap &map = maps[input.getOperandNumber()];
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : order)
      exprs.push_back(map.getResult(dim));
    map = AffineMap::get(map.getNumDims(), 0, exprs, op.getContext());
    rewriter.modifyOpInPlace(op, [&] {
      input.set(panel);
      op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
    panels.clear();
    inside.clear();
    indexing.clear();
  }

  /// The operations between the packed value and what is defined outside the loops, and the loops
  /// they depend on.
  void collectIndexing(Value value) {
    SmallVector<Value> work{value};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(next)) {
        if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
            loop && argument == loop.getInductionVar() && indexing.insert(loop))
          llvm::append_range(
              work, ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
        continue;
      }
      Operation *definition = next.getDefiningOp();
      if (isa<tensor::ExtractSliceOp, affine::AffineApplyOp, affine::AffineMinOp,
              affine::AffineMaxOp, arith::ConstantOp, tensor::DimOp>(definition) &&
          indexing.insert(definition))
        llvm::append_range(work, definition->getOperands());
    }
  }

  /// Dimensions of the operand in the order in which the loops inside the tile walk them.
  SmallVector<int64_t> readingOrder(OpOperand &input) {
    AffineMap map = op.getMatchingIndexingMap(&input);
    auto positionOf = [&](int64_t dim) {
      size_t innermost = 0; // an intrinsic reads a tile in its own order
      for (size_t i = 0; stage.intrinsic.empty() && i < stage.loops.size(); ++i)
        for (const LoopPart &part : stage.loops[i].parts)
          if (auto of = axisDim(op, stage.axes[part.axis].name);
              of && map.getResult(dim).isFunctionOfDim(*of))
            innermost = i;
      return innermost;
    };
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, map.getNumResults()));
    llvm::sort(dims, [&](int64_t a, int64_t b) {
      return std::pair(positionOf(a), a) < std::pair(positionOf(b), b);
    });
    return dims;
  }

  int64_t tripsOf(size_t at) const {
    int64_t trips = 1;
    for (const LoopPart &part : stage.loops[at].parts) {
      if (!part.extent)
        refuse("how often '" + stage.loops[at].name + "' runs is not known; split it first");
      trips *= *part.extent;
    }
    return trips;
  }

  /// At most this much of the dimension is read by one tile.
  int64_t extentOf(OpOperand &input, int64_t dim) {
    int64_t size = cast<RankedTensorType>(input.get().getType()).getDimSize(dim);
    if (!ShapedType::isDynamic(size))
      return size;
    AffineMap map = op.getMatchingIndexingMap(&input);
    auto walked = dyn_cast<AffineDimExpr>(map.getResult(dim));
    std::optional<int64_t> extent;
    if (walked) {
      int axis = stage.findAxis(axisName(op, walked.getPosition()));
      extent = axis >= 0 ? stage.axes[axis].extent : std::nullopt;
      for (auto [loop, at] : loops)
        for (const LoopPart &part : stage.loops[at].parts)
          if (part.axis == axis)
            extent = part.step;
    }
    if (!extent)
      refuse("how much of '" + pack.source + "' a tile reads is not known; split its axes first");
    return *extent;
  }

  /// The loops over panels; in the innermost, one is copied.
  Value copyPanels(size_t depth, Value into, Value source, IRMapping &mapping) {
    Location loc = op.getLoc();
    if (depth == panels.size()) {
      Value from = clone(source, mapping);
      Value panel = panelOf(into, from, mapping);
      return insertPanel(into, copy(from, panel), from, mapping);
    }
    auto [loop, at] = panels[depth];
    Value low = clone(loop.getLowerBound(), mapping), high = clone(loop.getUpperBound(), mapping);
    Value step = clone(loop.getStep(), mapping);
    auto made = rewriter.create<scf::ForOp>(loc, low, high, step, ValueRange{into});
    mapping.map(loop.getInductionVar(), made.getInductionVar());
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(made.getBody());
      Value result = copyPanels(depth + 1, made.getRegionIterArg(0), source, mapping);
      rewriter.create<scf::YieldOp>(loc, result);
    }
    return setRemainderApart(rewriter, made, stage.knownRemainder(stage.loops[at]));
  }

  /// The value as it is in the loops over panels.
  Value clone(Value value, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *definition = value.getDefiningOp();
    if (!definition || !indexing.contains(definition) || !isInside(definition))
      return value;
    for (Value operand : definition->getOperands())
      clone(operand, mapping);
    return rewriter.clone(*definition, mapping)->getResult(0);
  }

  bool isInside(Operation *definition) const {
    return !inside.empty() && inside.front().first->isProperAncestor(definition);
  }

  /// Where a panel lies among all of them, and the part of it that `value` fills.
  struct Place {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    RankedTensorType type;
  };
  Place placeOf(Value value, const IRMapping &mapping) {
    Place place;
    Location loc = op.getLoc();
    AffineExpr iv = rewriter.getAffineDimExpr(0), low = rewriter.getAffineDimExpr(1);
    for (auto [loop, at] : panels) {
      std::optional<int64_t> step = getConstantIntValue(loop.getStep());
      Value position = mapping.lookupOrDefault(loop.getInductionVar());
      place.offsets.push_back(affine::makeComposedFoldedAffineApply(
          rewriter, loc, (iv - low).floorDiv(*step),
          {position, mapping.lookupOrDefault(loop.getLowerBound())}));
      place.sizes.push_back(rewriter.getIndexAttr(1));
    }
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim : order) {
      place.offsets.push_back(rewriter.getIndexAttr(0));
      place.sizes.push_back(sizes[dim]);
      shape.push_back(type.getDimSize(dim));
    }
    place.strides.assign(place.sizes.size(), rewriter.getIndexAttr(1));
    place.type = RankedTensorType::get(shape, type.getElementType());
    return place;
  }

  Value panelOf(Value all, Value value, const IRMapping &mapping) {
    Place place = placeOf(value, mapping);
    return rewriter.create<tensor::ExtractSliceOp>(op.getLoc(), place.type, all, place.offsets,
                                                   place.sizes, place.strides);
  }

  Value insertPanel(Value all, Value panel, Value value, const IRMapping &mapping) {
    Place place = placeOf(value, mapping);
    return rewriter.create<tensor::InsertSliceOp>(op.getLoc(), panel, all, place.offsets,
                                                  place.sizes, place.strides);
  }

  /// A panel's elements, in the order in which they are read.
  Value copy(Value from, Value panel) {
    Operation *copied = nullptr;
    if (llvm::is_sorted(order)) // a generic one would be seen to do nothing
      copied = rewriter.create<linalg::CopyOp>(op.getLoc(), from, panel);
    else
      copied = permutedCopy(from, panel);
    copied->setAttr(kPackAttr, rewriter.getUnitAttr());
    return copied->getResult(0);
  }

  Operation *permutedCopy(Value from, Value panel) {
    unsigned rank = order.size();
    SmallVector<AffineExpr> exprs(rank);
    for (auto [i, dim] : llvm::enumerate(order))
      exprs[dim] = rewriter.getAffineDimExpr(i);
    AffineMap read = AffineMap::get(rank, 0, exprs, rewriter.getContext());
    SmallVector<AffineMap> maps{read, rewriter.getMultiDimIdentityMap(rank)};
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    return rewriter.create<linalg::GenericOp>(op.getLoc(), panel.getType(), from, panel, maps,
                                              iterators,
                                              [](OpBuilder &b, Location loc, ValueRange values) {
                                                b.create<linalg::YieldOp>(loc, values[0]);
                                              });
  }

  [[noreturn]] void refuse(const std::string &reason) const {
    throw Error(ErrorKind::InvalidArgument, "recipe, '" + stage.name + ": pack " + pack.source +
                                                " at " + pack.loop + "': " + reason);
  }

  RewriterBase &rewriter;
  linalg::GenericOp op;
  const Stage &stage;
  const Stage::Pack &pack;
  ArrayRef<MadeLoop> loops;
  SmallVector<MadeLoop> inside, panels;
  SmallVector<int64_t> order;
  llvm::SetVector<Operation *> indexing;
};

} // namespace

void packOperand(RewriterBase &rewriter, TilingInterface op, const Stage &stage,
                 const Stage::Pack &pack, ArrayRef<MadeLoop> loops) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    Packer(rewriter, generic, stage, pack, loops).run();
}

} // namespace headrace
