// Roles of operators that only move elements, in fusion and in the choice of a layout.
#include "dialect/Permutation.h"
#include "dialect/ops/Operands.h"

using namespace mlir;

namespace headrace::hr {

FusionRole ReshapeOp::getFusionRole() { return FusionRole::View; }
FusionRole BroadcastOp::getFusionRole() { return FusionRole::View; }

LayoutRole BroadcastOp::getLayoutRole() { return inEitherLayout(*this); }
LayoutRole SliceOp::getLayoutRole() { return inEitherLayout(*this); }
LayoutRole PlaceOp::getLayoutRole() { return inEitherLayout(*this); }
LayoutRole ConcatOp::getLayoutRole() { return inEitherLayout(*this); }
LayoutRole PadOp::getLayoutRole() { return inEitherLayout(*this); }

/// Whether an image's elements have the same order in both layouts.
LayoutRole ReshapeOp::getLayoutRole() {
  RankedTensorType type = typeOf(getInput());
  bool sameOrder =
      type.getRank() >= 3 && movesUnitDimsOnly(type, channelsLastPermutation(type.getRank()));
  return {sameOrder, false, false};
}

/// A transpose between the two layouts gives one of them for free.
LayoutRole TransposeOp::getLayoutRole() {
  if (typeOf(getInput()).getRank() < 3)
    return {};
  Permutation toLast = channelsLastPermutation(typeOf(getInput()).getRank());
  bool isToLast = llvm::equal(getPermutation(), toLast);
  bool isToFirst = llvm::equal(getPermutation(), inverse(toLast));
  // With one spatial dimension it is both; what it reads says which one is meant.
  if (isToLast && isToFirst) {
    auto producer = getInput().getDefiningOp<OperatorInterface>();
    isToFirst = !producer || !producer.getLayoutRole().resultIsImage;
    isToLast = !isToFirst;
  }
  if (isToLast)
    return {true, true, false};
  return isToFirst ? LayoutRole{true, true, true} : LayoutRole{};
}

/// The operand of a transpose to channels first is its result with channels last.
bool TransposeOp::isImageOperand(unsigned) { return !getLayoutRole().resultIsImage; }

void ConcatOp::permute(ArrayRef<int64_t> permutation) { setAxis(inverse(permutation)[getAxis()]); }

void PadOp::permute(ArrayRef<int64_t> permutation) {
  setLow(permuted(getLow(), permutation));
  setHigh(permuted(getHigh(), permutation));
}

template <class Part> static void permutePart(Part op, ArrayRef<int64_t> permutation) {
  AffineMap starts = op.getStarts();
  op.setStarts(AffineMap::get(0, starts.getNumSymbols(), permuted(starts.getResults(), permutation),
                              op.getContext()));
  op.setSteps(permuted(op.getSteps(), permutation));
}

void SliceOp::permute(ArrayRef<int64_t> permutation) { permutePart(*this, permutation); }
void PlaceOp::permute(ArrayRef<int64_t> permutation) { permutePart(*this, permutation); }

} // namespace headrace::hr
