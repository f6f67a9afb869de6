#include "transform/kernels/KernelLinks.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {

KernelLinks::KernelLinks(Block &body, const KernelRules &rules, GroupCost &cost)
    : rules(rules), cost(cost) {
  for (Operation &op : body)
    if (auto candidate = dyn_cast<hr::OperatorInterface>(&op))
      if (KernelGroup::candidate(candidate, rules).canWalk())
        walking.insert(candidate);
}

static bool isWhole(AffineExpr expr) {
  return isa<AffineDimExpr>(expr) || constantValue(expr) == 0;
}

/// Whether loops that compute the operand element by element could feed the reader: it reads it
/// neither by index nor through a window.
static bool readsElements(const Movement &m, hr::OperatorInterface reader, Value value) {
  return llvm::all_of(llvm::zip(reader->getOperands(), m.maps), [&](auto pair) {
    auto [operand, map] = pair;
    return operand != value || (map && llvm::all_of(map.getResults(), isWhole));
  });
}

/// Whether the reader uses every element at one point of its domain only.
static bool readsOnce(const Movement &m, hr::OperatorInterface reader, Value value) {
  llvm::SmallDenseSet<unsigned> dims;
  for (auto [operand, map] : llvm::zip(reader->getOperands(), m.maps))
    if (operand == value)
      for (AffineExpr expr : map.getResults())
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          dims.insert(dim.getPosition());
  for (auto [dim, size] : llvm::enumerate(m.domain))
    if (constantValue(size) != 1 && !dims.contains(dim))
      return false;
  return true;
}

bool KernelLinks::mayJoin(hr::OperatorInterface producer, hr::OperatorInterface reader) const {
  if (!rules.isRegular(producer) || !rules.isRegular(reader))
    return false;
  Value value = producer->getResult(0);
  const Movement &m = rules.movementOf(reader);
  const Movement &computed = rules.movementOf(producer);
  auto isPlain = [](AffineExpr expr) { return isa<AffineDimExpr>(expr) || constantValue(expr); };
  if (!readsElements(m, reader, value) || !llvm::all_of(computed.maps.back().getResults(), isPlain))
    return false;
  if (canWalk(producer) && canWalk(reader))
    return true;
  if (isAnchor(producer))
    return isElementwise(reader) && llvm::equal(shapeOf(reader->getResult(0)), shapeOf(value));
  return !isAnchor(reader) || readsOnce(m, reader, value);
}

bool KernelLinks::mayMerge(hr::OperatorInterface a, hr::OperatorInterface b) const {
  auto isCandidate = [&](hr::OperatorInterface op) {
    return rules.loops == KernelRules::Loops::Whole ? isElementwise(op) : canWalk(op);
  };
  return isCandidate(a) && isCandidate(b) &&
         cost.isMergeWorthwhile(KernelGroup(a, rules), KernelGroup(b, rules));
}

} // namespace headrace
