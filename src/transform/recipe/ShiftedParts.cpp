#include "transform/recipe/ShiftedParts.h"

#include "runtime/system/Error.h"
#include "transform/recipe/Rewriting.h"

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;

namespace headrace {

/// Whether parts of the value are read that begin elsewhere than it does.
static bool isReadShifted(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto part = dyn_cast<tensor::ExtractSliceOp>(user);
    return part && !llvm::all_of(part.getMixedOffsets(),
                                 [](OpFoldResult offset) { return isConstantIntValue(offset, 0); });
  });
}

void computePartsApart(RewriterBase &rewriter, func::FuncOp kernel, const LoopModel &model) {
  constexpr size_t kMaxParts = 64; // of parts there are parts, stage after stage
  for (size_t made = 0;;) {
    SmallVector<tensor::ExtractSliceOp> parts;
    kernel.walk([&](tensor::ExtractSliceOp part) {
      auto source = part.getSource().getDefiningOp<TilingInterface>();
      const Stage *stage = source ? model.find(stageOf(source).str()) : nullptr;
      if (stage && stage->place && isReadShifted(part.getSource()))
        parts.push_back(part);
    });
    if (parts.empty())
      return;
    for (tensor::ExtractSliceOp part : parts) {
      auto whole = cast<OpResult>(part.getSource());
      rewriter.setInsertionPoint(part);
      FailureOr<TilingResult> tiled =
          tensor::replaceExtractSliceWithTiledProducer(rewriter, part, whole);
      if (++made > kMaxParts || failed(tiled) ||
          tiled->tiledValues.front().getType() != part.getType())
        throw Error(ErrorKind::InvalidArgument, "stage '" + stageOf(whole.getOwner()).str() +
                                                    "' is read in parts that cannot be computed "
                                                    "apart");
      rewriter.replaceOp(part, tiled->tiledValues.front());
    }
    cleanUp(kernel);
  }
}

} // namespace headrace
