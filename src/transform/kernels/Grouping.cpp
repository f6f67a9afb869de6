#include "transform/kernels/Grouping.h"

using namespace mlir;

namespace headrace {

size_t Grouping::start(KernelGroup group) {
  for (hr::OperatorInterface op : group.getOperators())
    groupOf[op] = groups.size();
  groups.push_back(std::move(group));
  return groups.size() - 1;
}

void Grouping::join(hr::OperatorInterface op, size_t group) {
  groups[group].join(op);
  order.merge(op, groups[group].root());
  groupOf[op] = group;
}

std::optional<size_t> Grouping::find(Operation *op) const {
  auto found = groupOf.find(op);
  return found == groupOf.end() ? std::nullopt : std::optional(found->second);
}

llvm::SmallSetVector<size_t, 4> Grouping::readersOf(Operation *op) const {
  llvm::SmallSetVector<size_t, 4> readers;
  for (Operation *user : op->getUsers())
    if (std::optional<size_t> group = find(user))
      readers.insert(*group);
  return readers;
}

llvm::SmallSetVector<size_t, 8> Grouping::neighbours(size_t group) const {
  constexpr size_t kMaxReaders = 16;
  llvm::SmallSetVector<size_t, 8> result;
  auto consider = [&](Operation *op) {
    std::optional<size_t> found = find(op);
    return found && *found != group && result.insert(*found);
  };
  for (hr::OperatorInterface op : groups[group].getOperators())
    for (Value operand : op->getOperands()) {
      size_t readers = 0;
      for (Operation *user : operand.getUsers()) {
        readers += consider(user);
        if (readers == kMaxReaders)
          break;
      }
      if (Operation *producer = operand.getDefiningOp())
        consider(producer);
    }
  for (hr::OperatorInterface op : groups[group].getOperators())
    for (Operation *user : op->getUsers())
      consider(user);
  return result;
}

constexpr StringLiteral kWaitsForItself = "the kernel would wait for its own result";

FusionDecision Grouping::tryJoin(hr::OperatorInterface op, size_t group) {
  bool escapes =
      !llvm::all_of(op->getUsers(), [&](Operation *user) { return groups[group].contains(user); });
  if (escapes && order.wouldWaitForItself(op, groups[group].root()))
    return FusionDecision::no(kWaitsForItself);
  FusionDecision decision = groups[group].tryJoin(op, escapes);
  if (decision) {
    groupOf[op] = group;
    order.merge(op, groups[group].root());
  }
  return decision;
}

FusionDecision Grouping::tryMerge(size_t group, size_t other) {
  if (order.wouldWaitForItself(groups[group].root(), groups[other].root()))
    return FusionDecision::no(kWaitsForItself);
  KernelGroup both = groups[group];
  FusionDecision decision = both.tryMerge(groups[other]);
  if (decision)
    takeOver(group, other, std::move(both));
  return decision;
}

/// The last of the program first.
static SmallVector<hr::OperatorInterface> backwards(SmallVector<hr::OperatorInterface> operators) {
  llvm::sort(operators, [](hr::OperatorInterface a, hr::OperatorInterface b) {
    return b->isBeforeInBlock(a);
  });
  return operators;
}

FusionDecision Grouping::tryAssemble(size_t group, size_t other) {
  if (order.wouldWaitForItself(groups[group].root(), groups[other].root()))
    return FusionDecision::no(kWaitsForItself);
  KernelGroup both = groups[group];
  if (FusionDecision decision = both.tryMerge(groups[other]); !decision)
    return decision;
  SmallVector<hr::OperatorInterface> operators =
      backwards(SmallVector<hr::OperatorInterface>(both.getOperators()));
  std::optional<KernelGroup> assembled = assembleGroup(operators, rules, both.walkOfRoot());
  if (!assembled)
    return FusionDecision::no("together they fit only in an order that no recipe expresses");
  assembled->goByThumb(true);
  takeOver(group, other, std::move(*assembled));
  return FusionDecision::yes();
}

FusionDecision Grouping::tryUnite(ArrayRef<size_t> united) {
  SmallVector<hr::OperatorInterface> operators;
  for (size_t group : united) {
    if (!groups[group].isStructured() || groups[group].keepsAxes() || groups[group].border())
      return FusionDecision::no(
          "the data accesses of one are irregular, or a recipe gives its loops");
    llvm::append_range(operators, groups[group].getOperators());
  }
  operators = backwards(std::move(operators));
  SmallVector<std::optional<KernelGroup::Walk>> walks{std::nullopt};
  if (rules.loops == KernelRules::Loops::Shared)
    for (unsigned dim = 0; dim < rules.movementOf(operators.front()).domain.size(); ++dim)
      walks.push_back(KernelGroup::Walk{dim});
  for (std::optional<KernelGroup::Walk> walk : walks) {
    std::optional<KernelGroup> group = assembleGroup(operators, rules, walk);
    if (!group)
      continue;
    if (!order.tryRegroup({SmallVector<Operation *>(operators.begin(), operators.end())}))
      return FusionDecision::no(kWaitsForItself);
    size_t into = *llvm::min_element(united);
    groups[into] = std::move(*group);
    for (hr::OperatorInterface op : operators)
      groupOf[op] = into;
    return FusionDecision::yes();
  }
  return FusionDecision::no(
      "neither common loops nor row-blocked fusion can compute them together");
}

SmallVector<size_t> Grouping::withThoseBetween(ArrayRef<size_t> some) const {
  llvm::DenseSet<Operation *> behind, before;
  auto visit = [&](llvm::DenseSet<Operation *> &found, auto next) {
    SmallVector<Operation *> pending;
    for (size_t group : some)
      llvm::append_range(pending, groups[group].getOperators());
    while (!pending.empty())
      next(pending.pop_back_val(), [&](Operation *op) {
        if (op && found.insert(op).second)
          pending.push_back(op);
      });
  };
  visit(behind, [](Operation *op, auto add) { llvm::for_each(op->getUsers(), add); });
  visit(before, [](Operation *op, auto add) {
    for (Value operand : op->getOperands())
      add(operand.getDefiningOp());
  });
  llvm::SmallSetVector<size_t, 4> result(some.begin(), some.end());
  for (Operation &op : body)
    if (behind.contains(&op) && before.contains(&op))
      if (std::optional<size_t> group = find(&op))
        result.insert(*group);
  return result.takeVector();
}

FusionDecision Grouping::tryBorder(hr::PadOp pad) {
  std::optional<size_t> group = find(pad.getInput().getDefiningOp());
  if (!group)
    return FusionDecision::no("no kernel computes the image without its padding");
  FusionDecision decision = groups[*group].tryBorder(pad);
  if (decision) {
    order.merge(groups[*group].root(), pad);
    groupOf[pad] = *group;
  }
  return decision;
}

void Grouping::takeOver(size_t group, size_t other, KernelGroup both) {
  order.merge(groups[group].root(), groups[other].root());
  groups[group] = std::move(both);
  for (hr::OperatorInterface op : groups[other].getOperators())
    groupOf[op] = group;
}

bool Grouping::tryReplace(SmallVector<KernelGroup> with) {
  SmallVector<SmallVector<Operation *>> sets;
  for (const KernelGroup &group : with) {
    ArrayRef<hr::OperatorInterface> operators = group.getOperators();
    sets.emplace_back(operators.begin(), operators.end());
  }
  if (!order.tryRegroup(sets))
    return false;
  for (KernelGroup &group : with)
    start(std::move(group));
  return true;
}

SmallVector<KernelGroup> Grouping::inOrder() const {
  SmallVector<KernelGroup> result;
  llvm::DenseSet<size_t> done;
  std::function<void(Operation *)> visit = [&](Operation *op) {
    std::optional<size_t> found = find(op);
    auto visitOperands = [&](Operation *reader) {
      for (Value operand : reader->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          visit(producer);
    };
    if (!found)
      return visitOperands(op);
    if (!done.insert(*found).second)
      return;
    for (hr::OperatorInterface member : groups[*found].getOperators())
      visitOperands(member);
    result.push_back(groups[*found]);
  };
  for (Operation &op : body)
    visit(&op);
  return result;
}

} // namespace headrace
