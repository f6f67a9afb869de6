#include "target/cpu/lower/CopyLoops.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace headrace {
namespace {

/// Whether the instruction computes addresses, counts or moves data.
bool movesOnly(const Instruction &each) {
  if (isa<LoadInst, StoreInst, PHINode, GetElementPtrInst, BranchInst, CmpInst, SelectInst>(each))
    return true;
  return isa<BinaryOperator, CastInst>(each) && each.getType()->isIntegerTy();
}

/// Whether it stores vectors, or one value everywhere.
bool copiesOrFills(const Loop &loop) {
  bool stores = false;
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &each : *block) {
      if (!movesOnly(each))
        return false;
      if (auto *store = dyn_cast<StoreInst>(&each)) {
        const Value *stored = store->getValueOperand();
        stores |= stored->getType()->isVectorTy() || loop.isLoopInvariant(stored);
      }
    }
  return stores;
}

} // namespace

void keepCopyLoops(Function &function) {
  if (function.isDeclaration())
    return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder())
    if (copiesOrFills(*loop))
      loop->setLoopAlreadyUnrolled();
}

} // namespace headrace
