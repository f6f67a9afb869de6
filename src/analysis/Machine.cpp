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

} // namespace headrace
