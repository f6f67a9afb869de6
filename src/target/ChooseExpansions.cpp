// Level 1: decides how each contraction, convolution and attention is computed.
//
// Before (with --choose-expansions=prefer=openblas):
//   %c = hr.contract %a, %b maps [(m, n, k) -> (m, k), (k, n), (m, n)]
// After:
//   %c = hr.library "openblas.sgemm" (%a, %b) {parameters = (1, m, n, k, ...)}
//
// With generated code chosen, the operator stays and its second operand is laid out for vectors:
//   %t = hr.transpose %b [1, 0] ; %c = hr.contract %a, %t maps [(m, k), (k, n), (m, n)]
//
// Library calls cannot take what follows them into their loops, and pack their operands on every
// call; the estimates account for both.
#include "target/Passes.h"
#include "target/Target.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CHOOSEEXPANSIONSPASS
#include "target/Passes.h.inc"

namespace {

struct ChooseExpansionsPass : impl::ChooseExpansionsPassBase<ChooseExpansionsPass> {
  using ChooseExpansionsPassBase::ChooseExpansionsPassBase;

  void runOnOperation() override {
    const Target &machines = findTarget(target);
    const Machine &machine = machines.machine();
    std::unique_ptr<ExpansionChooser> chooser =
        prefer == "auto" ? makeEstimatingChooser(machine) : makeFixedChooser(prefer);
    llvm::MapVector<Operation *, SmallVector<const Expansion *>> candidates;
    getOperation().walk([&](Operation *op) {
      if (!only.empty() && op->getName().getStringRef() != only)
        return;
      for (const Expansion *expansion : machines.expansions())
        if (expansion->applies(op, machine))
          candidates[op].push_back(expansion);
    });
    IRRewriter rewriter(&getContext());
    for (auto &[op, expansions] : candidates)
      chooser->choose(op, expansions).rewrite(op, machine, rewriter);
  }
};

} // namespace
} // namespace headrace
