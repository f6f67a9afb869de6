// Level 1: decides how each contraction and convolution is computed.
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
#include "transform/Passes.h"
#include "transform/expansion/Expansion.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CHOOSEEXPANSIONSPASS
#include "transform/Passes.h.inc"

namespace {

struct ChooseExpansionsPass : impl::ChooseExpansionsPassBase<ChooseExpansionsPass> {
  using ChooseExpansionsPassBase::ChooseExpansionsPassBase;

  void runOnOperation() override {
    Machine machine;
    machine.vectorBytes = vectorBytes;
    machine.isDevice = device;
    std::unique_ptr<ExpansionChooser> chooser =
        prefer == "auto" ? makeEstimatingChooser(machine) : makeFixedChooser(prefer);
    SmallVector<Operation *> operators;
    getOperation().walk([&](Operation *op) {
      if (!expansionsOf(op, machine).empty())
        operators.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : operators)
      chooser->choose(op, expansionsOf(op, machine)).rewrite(op, machine, rewriter);
  }
};

} // namespace
} // namespace headrace
