// Which operators can walk blocks of rows together: the part of KernelGroup for groups with several
// results and with reductions over all rows.
#include "analysis/MatrixProduct.h"
#include "analysis/OperatorWork.h"
#include "transform/kernels/KernelGroup.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

constexpr int64_t kLongestRow = 1 << 16;      // elements of a row that is kept in cache
constexpr int64_t kFewestRows = 64;           // what is worth being cut into blocks
constexpr int64_t kFewestPoints = 1 << 15;    // of a reduction that all threads share
constexpr int64_t kMaxCells = 1 << 14;        // of a partial result
constexpr int64_t kMaxBlocks = 64;            // enough to share evenly among many threads
constexpr int64_t kBlocksOfUnknownCells = 16; // partial results of unknown size take memory
constexpr int64_t kPointsPerBlock = 1 << 14;  // less is not worth a cell of its own

/// A product of sizes, as far as sizes go.
int64_t saturating(int64_t a, int64_t b) {
  return b > 0 && a > SizeHints::kMax / b ? SizeHints::kMax : a * b;
}

/// Vectors of booleans are packed bits in registers and bytes in memory.
bool hasVectors(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() >= 8;
}

} // namespace

/// Whether the operator can be computed for some rows along `axis` at a time: every value has the
/// axis first, or lacks it.
bool KernelGroup::walksAlong(hr::OperatorInterface op, const Refs &domain, int axis) const {
  if (!isa<hr::MapOp, hr::BroadcastOp, hr::ReduceOp, hr::ContractOp>(op.getOperation()))
    return false;
  if (!hasVectors(op->getResult(0)) || !llvm::all_of(op->getOperands(), hasVectors))
    return false;
  if (llvm::count(domain, AxisRef::axis(axis)) != 1)
    return false;
  const Movement &m = rules->movementOf(op);
  for (AffineMap map : m.maps) {
    bool first = true;
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim && constantValue(expr) != 0)
        return false;
      AxisRef ref = dim ? domain[dim.getPosition()] : AxisRef::unit();
      if (ref.isUnknown() || (ref == AxisRef::axis(axis) && !first))
        return false;
      first &= !ref.isAxis();
    }
  }
  if (auto contract = dyn_cast<hr::ContractOp>(op.getOperation()); contract && byThumb)
    for (auto [operand, map] : llvm::zip(contract->getOperands(), m.maps)) {
      bool walked = llvm::any_of(map.getResults(), [&](AffineExpr expr) {
        return domain[cast<AffineDimExpr>(expr).getPosition()] == AxisRef::axis(axis);
      });
      // An operand that is used many times is better kept in registers by tiles of its own.
      if (walked && map.getNumResults() > 1 &&
          usesOf(contract, operand).value_or(2 * kFewUses) > kFewUses)
        return false;
    }
  return true;
}

/// Whether `b` is walked wherever `a` is, directly after it: the two are one axis of the kernel.
bool KernelGroup::follows(int a, int b) const {
  auto isEither = [&](AxisRef ref) { return ref == AxisRef::axis(a) || ref == AxisRef::axis(b); };
  for (hr::OperatorInterface op : operators) {
    ArrayRef<AxisRef> domain = domains.find(op)->second;
    const Movement &m = rules->movementOf(op);
    auto *atA = llvm::find(domain, AxisRef::axis(a)), *atB = llvm::find(domain, AxisRef::axis(b));
    if (atA == domain.end() && atB == domain.end())
      continue;
    if (atA == domain.end() || atB == domain.end() ||
        m.iterators[atA - domain.begin()] != m.iterators[atB - domain.begin()] ||
        llvm::any_of(m.indexed, [&](unsigned dim) { return isEither(domain[dim]); }))
      return false;
    for (auto [i, map] : llvm::enumerate(m.maps)) {
      if (!map) // a table, read by index
        continue;
      int before = -1;
      for (AffineExpr expr : map.getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim || !domain[dim.getPosition()].isAxis())
          continue;
        int axis = domain[dim.getPosition()].getId();
        if ((axis == b) != (before == a))
          return false;
        before = axis;
      }
      bool isSlice = i < op->getNumOperands() && op->getOperand(i).getDefiningOp<hr::SliceOp>();
      if (before == a || (isSlice && llvm::any_of(map.getResults(), [&](AffineExpr expr) {
                            auto dim = dyn_cast<AffineDimExpr>(expr);
                            return dim && isEither(domain[dim.getPosition()]);
                          })))
        return false;
    }
  }
  return true;
}

/// The axis and those after it whose points are rows as well.
SmallVector<int> KernelGroup::rowAxes(int axis) const {
  SmallVector<int> rows{axis};
  for (int next = 0; next < static_cast<int>(axes.size()); ++next)
    if (!llvm::is_contained(rows, next) && follows(rows.back(), next)) {
      rows.push_back(next);
      next = -1;
    }
  return rows;
}

/// Whether there are enough rows along the axis, short enough to stay in cache.
bool KernelGroup::rowsFit(int axis) const {
  SmallVector<int> rows = rowAxes(axis);
  const SizeHints &sizes = rules->sizes;
  int64_t count = 1;
  for (int each : rows)
    count = saturating(count, sizeHint(axes[each].size, sizes));
  return count >= kFewestRows && llvm::all_of(operators, [&](hr::OperatorInterface op) {
           int64_t length = 1;
           for (AxisRef ref : domains.find(op)->second)
             if (ref.isAxis() && !llvm::is_contained(rows, ref.getId()))
               length = saturating(length, sizeHint(axes[ref.getId()].size, sizes));
           return length <= kLongestRow;
         });
}

/// Whether an operator with this movement reduces along the axis.
static bool combinesAlong(const Movement &m, ArrayRef<AxisRef> domain, int axis) {
  for (auto [ref, kind] : llvm::zip(domain, m.iterators))
    if (ref == AxisRef::axis(axis))
      return kind == IteratorType::reduction;
  return false;
}

/// Whether all operators can walk along the axis, none of them reading what another reduces over
/// it.
bool KernelGroup::canWalkAlong(int axis) const {
  return structured && !ownLoops && rules->loops == KernelRules::Loops::Shared &&
         (!walkIsGiven || givenWalk == axis) && rowsFit(axis) &&
         llvm::all_of(operators, [&](hr::OperatorInterface op) {
           const Refs &domain = domains.find(op)->second;
           bool isRead =
               llvm::any_of(op->getUsers(), [&](Operation *user) { return contains(user); });
           return walksAlong(op, domain, axis) &&
                  !(isRead && combinesAlong(rules->movementOf(op), domain, axis));
         });
}

bool KernelGroup::canWalk() const {
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis)
    if (canWalkAlong(axis))
      return true;
  return false;
}

std::optional<KernelGroup::Walk> KernelGroup::walkOfRoot() const {
  if (!walk)
    return std::nullopt;
  ArrayRef<AxisRef> domain = domainOf(root());
  const auto *place = llvm::find(domain, AxisRef::axis(*walk));
  return Walk{static_cast<unsigned>(place - domain.begin())};
}

bool KernelGroup::accumulates(Operation *op) const {
  return walk && combinesAlong(rules->movementOf(cast<hr::OperatorInterface>(op)),
                               domains.find(op)->second, *walk);
}

/// A group of one reduction over its first axis walks it if that is worth sharing.
void KernelGroup::walkFromRoot() {
  hr::OperatorInterface op = root();
  if (!isa<hr::ReduceOp, hr::ContractOp>(op.getOperation()))
    return;
  const SizeHints &sizes = rules->sizes;
  int64_t points = 1, cells = 1;
  for (const Axis &axis : axes) {
    points = saturating(points, sizeHint(axis.size, sizes));
    if (!axis.reduction)
      cells *= constantValue(axis.size).value_or(1);
  }
  // A sum of dynamic length may be one of many elements.
  bool isOpen = llvm::any_of(
      axes, [](const Axis &axis) { return axis.reduction && !constantValue(axis.size); });
  if ((points < kFewestPoints && !isOpen) || cells > kMaxCells)
    return;
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis)
    if (axes[axis].reduction && canWalkAlong(axis)) {
      walk = axis;
      return;
    }
}

int64_t KernelGroup::walkBlocks() const {
  const SizeHints &sizes = rules->sizes;
  int64_t points = 1;
  bool knownCells = true;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    points = saturating(points, sizeHint(axis.size, sizes));
    knownCells &= static_cast<int>(i) == *walk || constantValue(axis.size).has_value();
  }
  if (!knownCells)
    return kBlocksOfUnknownCells;
  if (!constantValue(axes[*walk].size))
    return kMaxBlocks;
  return std::clamp<int64_t>(points / kPointsPerBlock, 1, kMaxBlocks);
}

/// Places dimensions of an operator's domain if the group reads the same operands.
void KernelGroup::placeByOperands(hr::OperatorInterface op, const Movement &m, Refs &domain) const {
  for (auto [operand, map] : llvm::zip(op->getOperands(), m.maps)) {
    auto known = values.find(operand);
    if (known == values.end() || !map)
      continue;
    Refs trial = domain;
    bool fits = true;
    for (auto [ref, expr] : llvm::zip(known->second, map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || !ref.isAxis())
        continue;
      AxisRef &place = trial[dim.getPosition()];
      fits &= (place.isUnknown() && !llvm::is_contained(trial, ref)) || place == ref;
      place = ref;
    }
    if (fits)
      domain = trial;
  }
}

/// The axes of an operator that reads what the group reads.
std::optional<KernelGroup::Refs> KernelGroup::resolveThroughOperands(hr::OperatorInterface op,
                                                                     const Movement &m) {
  Refs domain(m.domain.size());
  placeByOperands(op, m, domain);
  if (!llvm::is_contained(domain, AxisRef::axis(*walk)))
    return std::nullopt;
  for (auto [dim, ref] : llvm::enumerate(domain)) {
    if (ref.isAxis() && !sameSize(axes[ref.getId()].size, m.domain[dim]))
      return std::nullopt;
    if (!ref.isUnknown())
      continue;
    if (constantValue(m.domain[dim]) == 1) {
      ref = AxisRef::unit();
      continue;
    }
    axes.push_back({m.domain[dim], m.iterators[dim] == IteratorType::reduction});
    ref = AxisRef::axis(axes.size() - 1);
  }
  return domain;
}

static bool sameAxes(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  return llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
    auto [x, y] = pair;
    return x == y || (x.isUnit() && y.isUnit());
  });
}

/// Adds an operator to a walking group, by its result if the group reads it, else by what it
/// reads. Its operands from the group must be there row by row, so not reduced over all rows.
FusionDecision KernelGroup::place(hr::OperatorInterface op) {
  KernelGroup before = *this;
  const Movement &m = rules->movementOf(op);
  auto refused = [&](StringLiteral reason) {
    *this = std::move(before);
    return FusionDecision::no(reason);
  };
  bool isRead = llvm::any_of(op->getUsers(), [&](Operation *user) { return contains(user); });
  std::optional<Refs> domain;
  if (isRead) {
    ArrayRef<AxisRef> refs = values.find(op->getResult(0))->second;
    if (llvm::any_of(refs, [](AxisRef ref) { return ref.isUnknown(); }))
      return refused("the kernel reads it in several orders, or through a window");
    domain = resolveDomain(op, m, /*walking=*/true);
  } else {
    domain = resolveThroughOperands(op, m);
  }
  if (!domain || !walksAlong(op, *domain, *walk))
    return refused("it cannot be computed block by block along the axis of rows");
  if (isRead && combinesAlong(m, *domain, *walk))
    return refused("it reduces all rows, and the kernel reads its result");
  for (auto [operand, map] : llvm::zip(op->getOperands(), m.maps)) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || !contains(producer))
      continue;
    if (accumulates(producer) ||
        !sameAxes(operandRefs(op, m, operand, map, *domain), values.find(operand)->second))
      return refused("it reads a result of the kernel that is not available row by row");
  }
  add(op, m, *domain);
  return rowsFit(*walk) ? FusionDecision::yes()
                        : refused("rows would be too long to stay in cache");
}

/// Functions over the same points become one loop nest with several results. What one reads of the
/// other must be there at the same point.
FusionDecision KernelGroup::mergeElementwise(const KernelGroup &other) {
  auto isFunction = [](hr::OperatorInterface op) { return isElementwise(op.getOperation()); };
  auto sameExtent = [](const Axis &a, const Axis &b) { return sameSize(a.size, b.size); };
  if (!llvm::all_of(operators, isFunction) || !llvm::all_of(other.operators, isFunction) ||
      axes.size() != other.axes.size() ||
      !std::equal(axes.begin(), axes.end(), other.axes.begin(), sameExtent) ||
      domainOf(root()) != other.domainOf(other.root()))
    return FusionDecision::no("both must be functions over the same points");
  auto isComputedBy = [](const KernelGroup &group, Value value) {
    return value.getDefiningOp() && group.contains(value.getDefiningOp());
  };
  for (const auto &[value, refs] : values)
    if (auto known = other.values.find(value); known != other.values.end())
      if ((isComputedBy(*this, value) || isComputedBy(other, value)) &&
          !sameAxes(refs, known->second))
        return FusionDecision::no("one reads results of the other at other points");
  for (hr::OperatorInterface op : other.operators)
    add(op, rules->movementOf(op), Refs(other.domainOf(op)));
  return FusionDecision::yes();
}

FusionDecision KernelGroup::tryMerge(const KernelGroup &other) {
  if (!structured || !other.structured)
    return FusionDecision::no("the data accesses of one are irregular");
  if (keepsAxes() || other.keepsAxes())
    return FusionDecision::no("the loops of one are as a recipe says");
  if (root()->hasAttr(kTurnsOperandAttr) || other.root()->hasAttr(kTurnsOperandAttr))
    return FusionDecision::no("one is a matmul that transposes an operand");
  if (!hasRoomFor(other.operators.size()))
    return FusionDecision::no("together they hold more operators than a kernel may");
  if (rules->loops == KernelRules::Loops::Whole)
    return mergeElementwise(other);
  KernelGroup before = *this;
  auto mergeAlong = [&](int axis) {
    walk = axis;
    SmallVector<hr::OperatorInterface> waiting(other.operators);
    for (bool changed = true; changed && !waiting.empty();) {
      changed = false;
      for (hr::OperatorInterface op : SmallVector<hr::OperatorInterface>(waiting))
        if (place(op)) {
          llvm::erase(waiting, op);
          changed = true;
        }
    }
    if (waiting.empty())
      return true;
    *this = before;
    return false;
  };
  constexpr StringLiteral kReason = "they cannot iterate over the same rows";
  if (walk)
    return FusionDecision::yesIf(mergeAlong(*walk), kReason);
  for (int axis = 0; axis < static_cast<int>(before.axes.size()); ++axis)
    if (canWalkAlong(axis) && mergeAlong(axis))
      return FusionDecision::yes();
  return FusionDecision::no(kReason);
}

} // namespace headrace
