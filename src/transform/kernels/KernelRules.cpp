#include "transform/kernels/KernelRules.h"

#include "dialect/SymbolicShape.h"

using namespace mlir;

namespace headrace {

static bool hasNoPoint(const Movement &m) {
  return llvm::any_of(m.domain, [](AffineExpr size) { return constantValue(size) == 0; });
}

bool doesNothing(hr::OperatorInterface op) { return hasNoPoint(op.getMovement()); }

static llvm::DenseSet<Operation *> findRowWork(Block &body) {
  llvm::DenseSet<Operation *> found;
  for (Operation &op : body) {
    auto followsRowWork = [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer && operand.getType() == op.getResult(0).getType() &&
             found.contains(producer) &&
             llvm::is_contained(cast<RankedTensorType>(operand.getType()).getShape(), 1);
    };
    if (isa<hr::ReduceOp>(op) ||
        (isa<hr::MapOp>(op) && llvm::any_of(op.getOperands(), followsRowWork)))
      found.insert(&op);
  }
  return found;
}

KernelRules::KernelRules(func::FuncOp program, Loops loops)
    : loops(loops), sizes(sizeHints(program)), body(program.getBody().front()) {}

bool KernelRules::isPerRow(Operation *op) const {
  if (!rowWork)
    rowWork = findRowWork(body);
  return rowWork->contains(op);
}

const KernelRules::Facts &KernelRules::factsOf(hr::OperatorInterface op) const {
  std::unique_ptr<Facts> &known = facts[op];
  if (!known) {
    Movement movement = op.getMovement();
    bool regular = op.isStructured() && !hasNoPoint(movement);
    known = std::make_unique<Facts>(Facts{std::move(movement), regular});
  }
  return *known;
}

} // namespace headrace
