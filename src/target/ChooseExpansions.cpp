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
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "llvm/Support/FormatVariadic.h"

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
    Choices choices(getOperation());
    IRRewriter rewriter(&getContext());
    for (auto &[op, expansions] : candidates) {
      const Expansion &chosen = choose(op, expansions, *chooser, choices);
      choices.note(verbs::expand, op, chosen.name());
      explainOthers(op, expansions, chosen, machine, choices);
      chosen.rewrite(op, machine, rewriter);
    }
    if (only.empty())
      choices.finish({verbs::expand.name});
  }

private:
  static void explainOthers(Operation *op, ArrayRef<const Expansion *> candidates,
                            const Expansion &chosen, const Machine &machine, Choices &choices) {
    double taken = estimatedMicroseconds(chosen, op, machine);
    for (const Expansion *candidate : candidates)
      if (candidate != &chosen) {
        double other = estimatedMicroseconds(*candidate, op, machine);
        choices.noteMissed(
            verbs::expand, op, candidate->name(),
            llvm::formatv("an estimated {0:f1} us, {1:f1} us as {2}", other, taken, chosen.name())
                .str(),
            /*bytes=*/{}, taken - other);
      }
  }

  /// The expansion that the program's recipe requests, else the chooser's.
  static const Expansion &choose(Operation *op, ArrayRef<const Expansion *> candidates,
                                 const ExpansionChooser &chooser, Choices &choices) {
    std::optional<std::string> given = choices.wanted(verbs::expand, op);
    if (!given)
      return chooser.choose(op, candidates);
    std::string names;
    for (const Expansion *candidate : candidates) {
      if (candidate->name() == *given)
        return *candidate;
      names += (names.empty() ? "" : ", ") + candidate->name().str();
    }
    choices.refuse(verbs::expand, op, "expected one that applies: " + names);
    return chooser.choose(op, candidates);
  }
};

} // namespace
} // namespace headrace
