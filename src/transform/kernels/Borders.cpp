#include "transform/kernels/Borders.h"

#include "transform/choices/Verbs.h"
#include "transform/kernels/KernelGroup.h"

using namespace mlir;

namespace headrace {
namespace {

/// Whether the reader can take the middle of the padded image as a view.
bool readsRows(OpOperand &use) {
  auto reader = dyn_cast<hr::OperatorInterface>(use.getOwner());
  if (!reader || !reader.isStructured() || doesNothing(reader))
    return false;
  return static_cast<bool>(reader.getMovement().maps[use.getOperandNumber()]);
}

/// Whether the padded image can be written instead of the one without its padding.
FusionDecision canBeWritten(hr::PadOp pad) {
  auto producer = pad.getInput().getDefiningOp<hr::OperatorInterface>();
  if (!producer || !producer.isStructured() || doesNothing(producer) ||
      producer.getFusionRole() == FusionRole::View || isa<hr::SliceOp>(producer.getOperation()))
    return FusionDecision::no("no kernel computes the image without its padding");
  auto isNegative = [](int64_t size) { return size < 0; };
  if (llvm::any_of(pad.getLow(), isNegative) || llvm::any_of(pad.getHigh(), isNegative))
    return FusionDecision::no("it cuts off");
  if (pad.getLow().empty() || pad.getLow().back() != 0 || pad.getHigh().back() != 0)
    return FusionDecision::no("it pads along the dimension of vectors");
  for (auto [size, low, high] : llvm::zip(shapeOf(pad.getInput()), pad.getLow(), pad.getHigh()))
    if (constantValue(size) == 1 && (low != 0 || high != 0))
      return FusionDecision::no("it pads a dimension that is not an axis of the kernel");
  bool isRead = llvm::all_of(pad.getInput().getUses(), [&](OpOperand &use) {
    return use.getOwner() == pad || readsRows(use);
  });
  return FusionDecision::yesIf(isRead, "others need the image without its padding contiguously");
}

/// All others read the middle of the padded image.
void readInside(hr::PadOp pad) {
  Value image = pad.getInput();
  pad->moveAfter(image.getDefiningOp());
  if (image.hasOneUse())
    return;
  OpBuilder b(pad.getContext());
  b.setInsertionPointAfter(pad);
  SmallVector<AffineExpr> starts;
  for (int64_t low : pad.getLow())
    starts.push_back(constantDim(low, pad.getContext()));
  Value inside =
      b.create<hr::SliceOp>(pad.getLoc(), image.getType(), pad.getResult(),
                            AffineMapAttr::get(symbolMap(starts, pad.getContext())),
                            b.getDenseI64ArrayAttr(SmallVector<int64_t>(pad.getLow().size(), 1)));
  image.replaceAllUsesExcept(inside, pad);
}

} // namespace

Borders shareBorders(func::FuncOp program, Choices &choices) {
  Borders borders;
  program.walk([&](hr::PadOp pad) {
    if (choices.wanted(verbs::separate, pad))
      return;
    if (FusionDecision decision = canBeWritten(pad)) {
      readInside(pad);
      borders.insert(pad);
    } else if (Operation *producer = pad.getInput().getDefiningOp()) {
      choices.noteMissed(verbs::fuse, pad, choices.nameOf(producer), decision.reason());
    }
  });
  return borders;
}

} // namespace headrace
