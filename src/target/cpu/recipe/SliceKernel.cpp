#include "target/cpu/recipe/SliceKernel.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

/// Follows values from the kernel's result back to its operands: each is needed in parts along its
/// leading dimension, or as a whole.
class SliceFinder {
public:
  SliceFinder(func::FuncOp kernel, const LoopModel &model) : kernel(kernel), model(model) {}

  std::optional<SmallVector<int64_t>> find() {
    auto stores = llvm::to_vector(kernel.getOps<bufferization::MaterializeInDestinationOp>());
    linalg::GenericOp root = KernelContents::of(kernel).rootGeneric();
    if (stores.size() != 1 || !root || root->getNumResults() != 1)
      return std::nullopt;
    auto destination = dyn_cast<BlockArgument>(stores.front().getDest());
    std::optional<int64_t> tiles = tilesOf(root);
    if (!destination || !tiles || !needParts(stores.front().getSource()))
      return std::nullopt;
    SmallVector<int64_t> result{*tiles};
    for (BlockArgument argument : kernel.getArguments())
      if (argument == destination || inParts.contains(argument))
        result.push_back(argument.getArgNumber());
    return result;
  }

private:
  /// The loop of an operation that its result's leading dimension is.
  static std::optional<unsigned> leadingLoop(linalg::GenericOp op) {
    AffineMap map = op.getIndexingMapsArray().back();
    auto dim = map.getNumResults() > 0 ? dyn_cast<AffineDimExpr>(map.getResult(0)) : nullptr;
    if (!dim || op.getIteratorTypesArray()[dim.getPosition()] != IteratorType::parallel)
      return std::nullopt;
    return dim.getPosition();
  }

  /// How many tiles the grid has along the leading dimension, which must be its outermost one.
  std::optional<int64_t> tilesOf(linalg::GenericOp root) const {
    const Stage *stage = model.find(stageOf(root).str());
    std::optional<unsigned> leading = leadingLoop(root);
    if (!stage || !leading || stage->parallelLoops() == 0 || stage->loops[0].parts.size() != 1)
      return std::nullopt;
    const LoopPart &part = stage->loops[0].parts[0];
    const StageAxis &axis = stage->axes[part.axis];
    if (axis.name != axisName(root, *leading))
      return std::nullopt;
    if (!axis.extent)
      return part.step == 1 ? std::optional<int64_t>(-1) : std::nullopt;
    return *axis.extent % part.step == 0 ? std::optional(*axis.extent / part.step) : std::nullopt;
  }

  /// Notes that part k of the value is needed for part k of the result; false if that is not all
  /// that is needed.
  bool needParts(Value value) {
    if (auto read = value.getDefiningOp<bufferization::ToTensorOp>()) {
      Value memory = read.getMemref();
      inParts.insert(memory);
      return isa<BlockArgument>(memory) && !asWhole.contains(memory);
    }
    Operation *op = value.getDefiningOp();
    if (!op || isa<tensor::EmptyOp>(op))
      return op != nullptr;
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return needParts(fill.getOutputs().front());
    if (auto pad = dyn_cast<tensor::PadOp>(op))
      return getConstantIntValue(pad.getMixedLowPad().front()) == 0 &&
             getConstantIntValue(pad.getMixedHighPad().front()) == 0 && needParts(pad.getSource());
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return takesAllParts(slice) && needParts(slice.getSource());
    auto generic = dyn_cast<linalg::GenericOp>(op);
    return generic && generic->getNumResults() == 1 && needOperands(generic);
  }

  /// Whether the leading dimension is that of the source, all of it.
  static bool takesAllParts(tensor::ExtractSliceOp slice) {
    int64_t size = slice.getSourceType().getDimSize(0);
    return !slice.getDroppedDims().test(0) && !ShapedType::isDynamic(size) &&
           getConstantIntValue(slice.getMixedOffsets().front()) == 0 &&
           getConstantIntValue(slice.getMixedSizes().front()) == size &&
           getConstantIntValue(slice.getMixedStrides().front()) == 1;
  }

  bool needOperands(linalg::GenericOp op) {
    std::optional<unsigned> leading = leadingLoop(op);
    if (!leading)
      return false;
    // What is picked by an index may be anywhere.
    bool picks =
        op.getRegion()
            .walk([&](tensor::ExtractOp pick) {
              return needWhole(pick.getTensor()) ? WalkResult::advance() : WalkResult::interrupt();
            })
            .wasInterrupted();
    if (picks)
      return false;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (!map.isFunctionOfDim(*leading)) {
        if (!needWhole(operand.get()))
          return false;
        continue;
      }
      bool isLeading = map.getResult(0) == getAffineDimExpr(*leading, op.getContext()) &&
                       llvm::none_of(map.getResults().drop_front(), [&](AffineExpr expr) {
                         return expr.isFunctionOfDim(*leading);
                       });
      if (!isLeading || !needParts(operand.get()))
        return false;
    }
    return true;
  }

  /// Notes that all of the value is needed; false if it is also needed in parts, or computed in the
  /// kernel.
  bool needWhole(Value value) {
    while (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>())
      value = slice.getSource();
    // Constants, and windows, of which only the sizes are read.
    if (isa_and_nonnull<arith::ConstantOp, tensor::EmptyOp>(value.getDefiningOp()))
      return true;
    auto read = value.getDefiningOp<bufferization::ToTensorOp>();
    if (!read || inParts.contains(read.getMemref()))
      return false;
    asWhole.insert(read.getMemref());
    return true;
  }

  func::FuncOp kernel;
  const LoopModel &model;
  llvm::SmallDenseSet<Value> inParts, asWhole;
};

} // namespace

std::optional<SmallVector<int64_t>> slicesOfKernel(func::FuncOp kernel, const LoopModel &model) {
  return SliceFinder(kernel, model).find();
}

} // namespace headrace
