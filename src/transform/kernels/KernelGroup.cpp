#include "transform/kernels/KernelGroup.h"

#include "analysis/MatrixProduct.h"
#include "analysis/OperatorWork.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {

static FusionRole roleOf(Operation *op) {
  auto fused = dyn_cast<hr::OperatorInterface>(op);
  return fused ? fused.getFusionRole() : FusionRole::Other;
}

bool isAnchor(Operation *op) { return roleOf(op) == FusionRole::Anchor; }
bool isElementwise(Operation *op) { return roleOf(op) == FusionRole::Elementwise; }

/// Vectors are read along the last dimension, which must not have gaps.
bool isReadInPlace(hr::SliceOp slice) {
  ArrayRef<int64_t> steps = slice.getSteps();
  if (steps.empty() || steps.back() != 1 || llvm::any_of(steps, [](int64_t s) { return s < 1; }) ||
      doesNothing(cast<hr::OperatorInterface>(slice.getOperation())))
    return false;
  return llvm::all_of(slice->getUses(), [](OpOperand &use) {
    auto user = dyn_cast<hr::OperatorInterface>(use.getOwner());
    if (!user || !user.isStructured() || doesNothing(user))
      return false;
    Movement m = user.getMovement();
    return static_cast<bool>(m.maps[use.getOperandNumber()]);
  });
}

KernelGroup::KernelGroup(hr::OperatorInterface root, const KernelRules &rules,
                         std::optional<Walk> given)
    : KernelGroup(root, rules, given, /*byThumb=*/!given) {}

KernelGroup KernelGroup::candidate(hr::OperatorInterface root, const KernelRules &rules) {
  return KernelGroup(root, rules, std::nullopt, /*byThumb=*/false);
}

KernelGroup::KernelGroup(hr::OperatorInterface root, const KernelRules &rules,
                         std::optional<Walk> given, bool byThumb)
    : rules(&rules), byThumb(byThumb), walkIsGiven(given), structured(rules.isRegular(root)) {
  if (!structured) {
    operators.push_back(root);
    return;
  }
  const Movement &m = rules.movementOf(root);
  add(root, m, resolveRoot(m));
  if (given && given->dim && domainOf(root)[*given->dim].isAxis())
    givenWalk = domainOf(root)[*given->dim].getId();
  if (rules.loops == KernelRules::Loops::Shared)
    walkFromRoot();
}

KernelGroup KernelGroup::scheduled(hr::OperatorInterface root, const KernelRules &rules) {
  KernelGroup group(root, rules);
  group.ownLoops = true;
  group.walk = std::nullopt;
  return group;
}

FusionDecision KernelGroup::tryJoin(hr::OperatorInterface op, bool escapes) {
  if (keepsAxes())
    return FusionDecision::no("the kernel's loops are as a recipe says");
  if (root()->hasAttr(kTurnsOperandAttr) || op->hasAttr(kTurnsOperandAttr))
    return FusionDecision::no("the matmul transposes an operand, and cannot compute anything else");
  if (!escapes && isPartOfJoin(op)) {
    operators.push_back(op);
    domains[op] = {};
    return FusionDecision::yes();
  }
  if (!structured || !rules->isRegular(op))
    return FusionDecision::no("it, or the kernel's root, is empty or not a structured loop nest");
  if (!hasRoomFor(1))
    return FusionDecision::no("the kernel has the maximum number of operators");
  FusionDecision decision =
      FusionDecision::no("others read it as well, and the kernel cannot iterate over its rows");
  if (!walk && !escapes) {
    decision = joinLoops(op);
    if (decision)
      return decision;
  }
  if (walk)
    return place(op);
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis) {
    if (!canWalkAlong(axis))
      continue;
    walk = axis;
    if (place(op))
      return FusionDecision::yes();
    walk = std::nullopt;
  }
  return decision;
}

/// Whether it picks what the kernel joins with others: that is written where it is joined.
bool KernelGroup::isPartOfJoin(hr::OperatorInterface op) const {
  return rules->loops == KernelRules::Loops::Shared && hasRoomFor(1) &&
         isa<hr::ConcatOp>(root().getOperation()) &&
         isa<hr::GatherOp, hr::SliceOp>(op.getOperation()) && op->hasOneUse() && !doesNothing(op) &&
         !doesNothing(root());
}

/// Adds a producer to a group of one loop nest.
FusionDecision KernelGroup::joinLoops(hr::OperatorInterface op) {
  KernelGroup before = *this;
  const Movement &m = rules->movementOf(op);
  std::optional<Refs> domain = resolveDomain(op, m, /*walking=*/false);
  FusionDecision decision =
      domain ? pays(op, *domain)
             : FusionDecision::no("it is computed along other axes than the kernel's");
  if (decision)
    add(op, m, *domain);
  else
    *this = std::move(before);
  return decision;
}

FusionDecision KernelGroup::tryBorder(hr::PadOp pad) {
  if (!structured || keepsAxes() || walk || pad.getInput().getDefiningOp() != root())
    return FusionDecision::no("the kernel iterates over rows, or computes other results as well");
  ArrayRef<AxisRef> domain = domainOf(root());
  AffineMap result = rules->movementOf(root()).maps.back();
  for (auto [expr, low, high] : llvm::zip(result.getResults(), pad.getLow(), pad.getHigh())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if ((low != 0 || high != 0) && !(dim && domain[dim.getPosition()].isAxis()))
      return FusionDecision::no("it pads a dimension that is not an axis of the kernel");
  }
  borderOp = pad;
  return FusionDecision::yes();
}

bool KernelGroup::hasRoomFor(size_t more) const {
  constexpr size_t kMaxOperators = 128;
  return operators.size() + more <= kMaxOperators;
}

void KernelGroup::join(hr::OperatorInterface op) {
  domains[op] = resolveRoot(rules->movementOf(op));
  operators.push_back(op);
}

void KernelGroup::add(hr::OperatorInterface op, const Movement &m, const Refs &domain) {
  operators.push_back(op);
  domains[op] = domain;
  if (isAnchor(op))
    anchorOp = op;
  for (auto [operand, map] : llvm::zip(op->getOperands(), m.maps))
    assign(operand, operandRefs(op, m, operand, map, domain));
  Refs result;
  for (AffineExpr expr : m.maps.back().getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    result.push_back(dim ? domain[dim.getPosition()] : AxisRef::unit());
  }
  values.try_emplace(op->getResult(0), result);
}

/// The dimensions of the first operator's domain are the first axes.
KernelGroup::Refs KernelGroup::resolveRoot(const Movement &m) {
  Refs domain(m.domain.size());
  for (unsigned dim = 0; dim < m.domain.size(); ++dim) {
    if (constantValue(m.domain[dim]) == 1) {
      domain[dim] = AxisRef::unit();
      continue;
    }
    axes.push_back({m.domain[dim], m.iterators[dim] == IteratorType::reduction});
    domain[dim] = AxisRef::axis(axes.size() - 1);
  }
  return domain;
}

/// Places the operator's iteration dimensions on the group's axes, through its result.
std::optional<KernelGroup::Refs> KernelGroup::resolveDomain(hr::OperatorInterface op,
                                                            const Movement &m, bool walking) {
  Refs domain(m.domain.size());
  auto addAxis = [&](unsigned dim) {
    axes.push_back({m.domain[dim], m.iterators[dim] == IteratorType::reduction});
    domain[dim] = AxisRef::axis(axes.size() - 1);
  };
  auto isUnit = [&](unsigned dim) { return constantValue(m.domain[dim]) == 1; };
  Value result = op->getResult(0);
  ArrayRef<AxisRef> resultRefs = values.find(result)->second;
  for (auto [expr, ref] : llvm::zip(m.maps.back().getResults(), resultRefs)) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      domain[dim.getPosition()] = ref;
    else if (!constantValue(expr))
      return std::nullopt; // several dimensions make one of the result; only a root may do that
  }
  if (walking)
    placeByOperands(op, m, domain);
  // Reductions: the reduced dimension is the axis next to which the result has a unit dimension, or
  // the one along which another operator of the group reads the same input.
  for (unsigned dim = 0; dim < m.domain.size(); ++dim) {
    if (!domain[dim].isUnknown())
      continue;
    if (isUnit(dim)) {
      domain[dim] = AxisRef::unit();
      continue;
    }
    if (isAnchor(op)) {
      addAxis(dim);
      continue;
    }
    if (auto reduce = dyn_cast<hr::ReduceOp>(op.getOperation())) {
      auto placeAt = [&](AxisRef ref) {
        if (!ref.isUnknown() && sameSize(axes[ref.getId()].size, m.domain[dim]))
          domain[dim] = ref;
      };
      if (reduce.getKeepDims())
        placeAt(resultRefs[dim].withoutUnit());
      if (domain[dim].isUnknown())
        if (auto known = values.find(reduce.getInput()); known != values.end())
          placeAt(known->second[dim].withoutUnit());
      if (domain[dim].isUnknown() && walking) {
        addAxis(dim);
        continue;
      }
    }
    if (domain[dim].isUnknown())
      return std::nullopt;
  }
  return domain;
}

/// Where the dimensions of an operand lie.
KernelGroup::Refs KernelGroup::operandRefs(hr::OperatorInterface op, const Movement &m,
                                           Value operand, AffineMap map, const Refs &domain) {
  if (!map) // a table, read by index
    return Refs(cast<RankedTensorType>(operand.getType()).getRank());
  Refs refs;
  unsigned offset = m.domain.size() - std::min<size_t>(m.domain.size(), map.getNumResults());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      refs.push_back(domain[dim.getPosition()]);
    } else if (constantValue(expr) == 0) {
      // Broadcast: operands of maps are aligned at the last dimension.
      bool aligned = isa<hr::MapOp, hr::BroadcastOp>(op.getOperation());
      AxisRef beside = aligned ? domain[offset + i] : AxisRef();
      refs.push_back(beside.getId() < 0 ? AxisRef::unit() : AxisRef::unit(beside));
    } else {
      refs.push_back(AxisRef()); // a window or a step: readable from memory only
    }
  }
  return refs;
}

/// Places the dimensions of a value. One that two operators read along different axes lies nowhere:
/// it is read from memory, both ways.
void KernelGroup::assign(Value value, const Refs &refs) {
  auto [known, inserted] = values.try_emplace(value, refs);
  if (inserted)
    return;
  Refs both;
  for (auto [a, b] : llvm::zip_equal(known->second, refs)) {
    if (a == b || b == AxisRef::unit())
      both.push_back(a.isUnit() || a == b ? a : AxisRef());
    else
      both.push_back(a == AxisRef::unit() && b.isUnit() ? b : AxisRef());
  }
  if (llvm::any_of(both, [](AxisRef ref) { return ref.isUnknown(); }))
    both.assign(both.size(), AxisRef());
  known->second = both;
}

/// Whether every element is read where it is computed, the dimensions in their order.
static bool readsInPlace(hr::OperatorInterface op, Value value) {
  Movement m = op.getMovement();
  return llvm::all_of(llvm::zip(op->getOperands(), m.maps), [&](auto pair) {
    auto [operand, map] = pair;
    if (operand != value)
      return true;
    if (!map)
      return false;
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (!constantValue(expr) && expr != getAffineDimExpr(i, expr.getContext()))
        return false;
    return true;
  });
}

/// How often tiling writes the operator before equal tiles are found: once per way to the root.
/// That doubles with each operator that is read by a reduction and by what reads its result.
uint64_t KernelGroup::copiesOf(Operation *op) const {
  llvm::DenseMap<Operation *, uint64_t> copies{{root(), 1}};
  auto countUses = [&](Operation *producer) {
    uint64_t total = 0;
    for (Operation *user : producer->getUsers())
      total = llvm::SaturatingAdd(total, copies.lookup(user));
    return total;
  };
  for (hr::OperatorInterface member : llvm::drop_begin(operators))
    copies[member] = countUses(member);
  return countUses(op);
}

/// Whether computing `op` inside the group saves its intermediate without repeating work.
FusionDecision KernelGroup::pays(hr::OperatorInterface op, const Refs &domain) const {
  for (AxisRef ref : values.find(op->getResult(0))->second)
    if (ref.isUnknown())
      return FusionDecision::no("the kernel reads it in several orders, or through a window");
  llvm::SmallDenseSet<int> covered;
  for (AxisRef ref : domain)
    if (ref.isAxis())
      covered.insert(ref.getId());
  hr::OperatorInterface rootOp = root();
  const Movement &rootMovement = rules->movementOf(rootOp);
  bool rootReduces = llvm::is_contained(rootMovement.iterators, IteratorType::reduction);

  if (isAnchor(op)) {
    // An anchor takes element-wise work on its own result, in its own order, as an epilogue.
    if (anchorOp || rootReduces)
      return FusionDecision::no("the kernel is built around a reduction already");
    bool isEpilogue = llvm::all_of(operators, [&](hr::OperatorInterface user) {
      return isElementwise(user) && readsInPlace(user, op->getResult(0)) &&
             llvm::equal(shapeOf(user->getResult(0)), shapeOf(op->getResult(0)));
    });
    return FusionDecision::yesIf(isEpilogue,
                                 "only element-wise work in its own order and shape can follow it");
  }
  // Axes of the values the group keeps; a producer that lacks one would be computed again and
  // again along it, except per row in a kernel that walks rows.
  llvm::SmallDenseSet<int> kept;
  for (size_t i = 0; i < axes.size(); ++i)
    if (!axes[i].reduction)
      kept.insert(i);
  bool full = llvm::all_of(kept, [&](int axis) { return covered.contains(axis); });
  if (anchorOp)
    return FusionDecision::yesIf(
        full && isElementwise(op) &&
            llvm::all_of(covered, [&](int axis) { return kept.contains(axis); }),
        "it would be recomputed for each step of the kernel's matmul, window or sum");
  if (rootReduces)
    return FusionDecision::yesIf(
        (isElementwise(op) || isa<hr::TransposeOp>(op.getOperation())) && full &&
            covered.size() == axes.size(),
        "the kernel's reduction fuses only element-wise operators over all its axes");

  bool hasReduction =
      rules->isPerRow(op) || llvm::any_of(operators, [](hr::OperatorInterface other) {
        return isa<hr::ReduceOp>(other.getOperation());
      });
  if (!hasReduction)
    return FusionDecision::yesIf(full, "it would be computed again along an axis that it lacks");
  constexpr uint64_t kMaxCopies = 64;
  if (copiesOf(op) > kMaxCopies)
    return FusionDecision::no(
        "it is read in many ways, so that the kernel would recompute it too often");

  // Rows: the reduced axes are the last ones of the root and small enough to stay in cache.
  ArrayRef<AxisRef> rootDomain = domains.find(rootOp)->second;
  llvm::SmallDenseSet<int> rowAxes = kept;
  auto dropReduced = [&](hr::OperatorInterface candidate, ArrayRef<AxisRef> refs) {
    const Movement &m = rules->movementOf(candidate);
    for (auto [ref, kind] : llvm::zip(refs, m.iterators))
      if (ref.isUnit() || kind == IteratorType::reduction)
        rowAxes.erase(ref.getId());
  };
  dropReduced(op, domain);
  for (hr::OperatorInterface other : operators)
    dropReduced(other, domains.find(other)->second);
  constexpr int64_t kRowLimit = 1 << 16; // elements of a row that is kept between passes over it
  bool inRow = false;
  int64_t rowElements = 1;
  for (AxisRef ref : rootDomain) {
    if (!ref.isAxis())
      continue;
    bool isRowAxis = rowAxes.contains(ref.getId());
    if (isRowAxis && inRow)
      return FusionDecision::no("the kernel's rows are not along its last axes");
    inRow |= !isRowAxis;
    if (!isRowAxis)
      rowElements =
          std::min(kRowLimit + 1, rowElements * sizeHint(axes[ref.getId()].size, rules->sizes));
  }
  if (rowElements > kRowLimit)
    return FusionDecision::no("rows are too long to stay in cache between passes over them");
  return FusionDecision::yesIf(
      llvm::all_of(rowAxes, [&](int axis) { return covered.contains(axis); }) &&
          !isa<hr::TransposeOp>(op.getOperation()),
      "it would be computed again for every row, or transposes rows");
}

} // namespace headrace
