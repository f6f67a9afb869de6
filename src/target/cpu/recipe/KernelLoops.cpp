#include "target/cpu/recipe/KernelLoops.h"

#include "analysis/OperatorWork.h"
#include "transform/kernels/KernelShapes.h"

using namespace mlir;

namespace headrace {

KernelLoops::KernelLoops(func::FuncOp kernel, const Machine &machine)
    : contents(KernelContents::of(kernel)), machine(machine),
      form(KernelForm::of(kernel->getParentOp())) {
  for (Operation *op : contents.ops)
    for (Type type : op->getOperandTypes()) {
      Type element = getElementTypeOrSelf(type);
      if (!element.isIntOrFloat())
        continue;
      unsigned bits = element.getIntOrFloatBitWidth();
      vectorizable &= bits >= 8;
      elementBytes = std::max<int64_t>(elementBytes, bits / 8);
    }
  auto root = contents.rootGeneric();
  if (!root)
    return;
  ranges = root.getStaticLoopRanges();
  iterators = root.getIteratorTypesArray();
  SizeHints sizes = sizeHints(root);
  for (AffineExpr size : loopSizes(root))
    hints.push_back(size ? headrace::sizeHint(size, sizes) : SizeHints::kDefault);
}

} // namespace headrace
