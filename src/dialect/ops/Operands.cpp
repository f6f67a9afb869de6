#include "dialect/ops/Operands.h"

using namespace mlir;

namespace headrace::hr {

/// [N, C, spatial...]: below rank 3 there is no spatial dimension.
static bool isOnImages(Operation *op) {
  return std::max(typeOf(op->getOperand(0)).getRank(), typeOf(op->getResult(0)).getRank()) >= 3;
}

LayoutRole inEitherLayout(Operation *op) {
  return isOnImages(op) ? LayoutRole{true, false, true} : LayoutRole{};
}

LayoutRole wantsChannelsLast(Operation *op, ChannelLayout layout) {
  return isOnImages(op) && layout == ChannelLayout::First ? LayoutRole{true, true, true}
                                                          : LayoutRole{};
}

} // namespace headrace::hr
