#include "dialect/Hr.h"

using namespace mlir;

namespace headrace::hr {

bool OperatorInterface::isStructured() {
  if (isPadded())
    return false;
  Movement m = getMovement();
  // A compute's body reads its tables by index; the loops around it do not have them as operands.
  bool hasTables = isa<ComputeOp>(getOperation());
  bool affine =
      !m.maps.empty() && !isa<SliceOp>(getOperation()) && llvm::all_of(m.maps, [&](AffineMap map) {
        return map ? map.getNumSymbols() == 0 : hasTables;
      });
  bool reduces = llvm::is_contained(m.iterators, utils::IteratorType::reduction);
  return affine && (!reduces || getInitialValue());
}

} // namespace headrace::hr
