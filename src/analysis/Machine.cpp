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
  // Full vectors first. Two share each broadcast of the other operand; four leave few rows. None
  // may take more instructions than all features as one, though, where those fit.
  bool fits = features <= 2 * lanes;
  int64_t atOnce = (features + lanes - 1) / lanes;
  auto cutsEvenly = [&](int64_t tile) {
    return tile > 1 && features % tile == 0 && (!fits || features / tile <= atOnce);
  };
  for (int64_t tile : {2 * lanes, 4 * lanes, lanes})
    if (cutsEvenly(tile))
      return tile;
  // The code generator pads any other width up to the next power of two: more than half of two
  // vectors in use, or of four, is better than half of one.
  if (!fits)
    for (int64_t most : {2 * lanes, 4 * lanes})
      for (int64_t tile = most - 1; tile > most / 2; --tile)
        if (cutsEvenly(tile))
          return tile;
  for (int64_t tile : {lanes / 2, lanes / 4})
    if (cutsEvenly(tile))
      return tile;
  return fits ? features : 0;
}

} // namespace headrace
