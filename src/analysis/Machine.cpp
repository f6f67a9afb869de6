#include "analysis/Machine.h"

#include "runtime/system/Error.h"

namespace headrace {

static const Machine &(*findMachine)(llvm::StringRef) = nullptr;

void provideMachines(const Machine &(*find)(llvm::StringRef target)) { findMachine = find; }

const Machine &machineOfTarget(llvm::StringRef target) {
  if (!findMachine)
    throw InternalError("no target is known to this process, '" + target.str() + "' neither");
  return findMachine(target);
}

int64_t chooseFeatureTile(int64_t lanes, int64_t features) {
  // Powers of two: the code generator pads any other width up to the next one, and the padding
  // takes registers from the rows. Two vectors share each broadcast of the other operand; four
  // leave few rows; less than one leaves lanes idle. None may take more instructions than all
  // features as one, though, where those fit.
  bool fits = features <= 2 * lanes;
  int64_t atOnce = (features + lanes - 1) / lanes;
  for (int64_t tile : {2 * lanes, 4 * lanes, lanes, lanes / 2, lanes / 4})
    if (tile > 1 && features % tile == 0 && (!fits || features / tile <= atOnce))
      return tile;
  return fits ? features : 0;
}

} // namespace headrace
