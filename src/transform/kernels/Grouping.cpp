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
  constexpr size_t kMostReaders = 16;
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
        if (readers == kMostReaders)
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

SmallVector<Operation *> Grouping::usersOutside(Operation *op, size_t group) const {
  SmallVector<Operation *> users;
  for (Operation *user : op->getUsers())
    if (!groups[group].contains(user))
      users.push_back(user);
  return users;
}

/// Whether `target` waits for any of the operators.
bool Grouping::reaches(SmallVector<Operation *> from, size_t target) const {
  llvm::SmallPtrSet<Operation *, 32> seen;
  llvm::SmallDenseSet<size_t> seenGroups;
  while (!from.empty()) {
    Operation *op = from.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    std::optional<size_t> found = find(op);
    if (found == target)
      return true;
    // A kernel ends as a whole: all its results wait for all its operands.
    if (found && seenGroups.insert(*found).second)
      for (hr::OperatorInterface member : groups[*found].getOperators())
        from.push_back(member);
    llvm::append_range(from, op->getUsers());
  }
  return false;
}

/// Whether there is a way between the two groups other than directly.
bool Grouping::reachesThroughOthers(size_t from, size_t to) const {
  SmallVector<Operation *> users;
  for (hr::OperatorInterface member : groups[from].getOperators())
    for (Operation *user : usersOutside(member, from))
      if (!groups[to].contains(user))
        users.push_back(user);
  return reaches(users, to);
}

constexpr StringLiteral kWaitsForItself = "the kernel would wait for its own result";

Verdict Grouping::tryJoin(hr::OperatorInterface op, size_t group) {
  SmallVector<Operation *> others = usersOutside(op, group);
  bool escapes = !others.empty();
  if (escapes && reaches(others, group))
    return Verdict::no(kWaitsForItself);
  Verdict verdict = groups[group].tryJoin(op, escapes, isPerRow(op));
  if (verdict)
    groupOf[op] = group;
  return verdict;
}

Verdict Grouping::tryMerge(size_t group, size_t other) {
  KernelGroup both = groups[group];
  Verdict verdict = both.tryMerge(groups[other]);
  return verdict ? tryTakeOver(group, other, std::move(both)) : verdict;
}

Verdict Grouping::tryAssemble(size_t group, size_t other, KernelGroup::Loops loops) {
  KernelGroup both = groups[group];
  if (Verdict verdict = both.tryMerge(groups[other]); !verdict)
    return verdict;
  SmallVector<hr::OperatorInterface> operators(both.getOperators());
  llvm::sort(operators, [](hr::OperatorInterface a, hr::OperatorInterface b) {
    return b->isBeforeInBlock(a);
  });
  std::optional<KernelGroup> assembled = assembleGroup(operators, loops, both.walkOfRoot(),
                                                       [&](Operation *op) { return isPerRow(op); });
  if (!assembled)
    return Verdict::no("together they fit only in an order that no recipe tells");
  return tryTakeOver(group, other, std::move(*assembled));
}

Verdict Grouping::tryTakeOver(size_t group, size_t other, KernelGroup both) {
  // Ways through other groups come last: looking for them walks the program.
  if (reachesThroughOthers(group, other) || reachesThroughOthers(other, group))
    return Verdict::no(kWaitsForItself);
  groups[group] = std::move(both);
  for (hr::OperatorInterface op : groups[other].getOperators())
    groupOf[op] = group;
  return Verdict::yes();
}

bool Grouping::tryReplace(ArrayRef<size_t> old, SmallVector<KernelGroup> with) {
  size_t before = groups.size();
  for (KernelGroup &group : with)
    start(std::move(group));
  if (isAcyclic())
    return true;
  groups.truncate(before);
  for (size_t group : old)
    for (hr::OperatorInterface op : groups[group].getOperators())
      groupOf[op] = group;
  return false;
}

/// Counts down what every group and every operator between them waits for.
bool Grouping::isAcyclic() const {
  enum class State { New, Open, Done };
  llvm::DenseMap<Operation *, State> states; // of a group: at its root
  SmallVector<std::pair<Operation *, bool>> stack;
  auto representative = [&](Operation *op) -> Operation * {
    std::optional<size_t> group = find(op);
    return group ? groups[*group].root().getOperation() : op;
  };
  for (Operation &op : body) {
    stack.push_back({representative(&op), false});
    while (!stack.empty()) {
      auto [top, isLeaving] = stack.pop_back_val();
      State &state = states.try_emplace(top, State::New).first->second;
      if (isLeaving) {
        state = State::Done;
        continue;
      }
      if (state == State::Done)
        continue;
      if (state == State::Open)
        return false;
      state = State::Open;
      stack.push_back({top, true});
      auto visit = [&](Operation *member) {
        for (Value operand : member->getOperands())
          if (Operation *producer = operand.getDefiningOp();
              producer && representative(producer) != top) {
            Operation *next = representative(producer);
            State known = states.lookup(next);
            if (known != State::Done)
              stack.push_back({next, false});
          }
      };
      if (std::optional<size_t> group = find(top))
        for (hr::OperatorInterface member : groups[*group].getOperators())
          visit(member);
      else
        visit(top);
    }
  }
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

std::optional<KernelGroup> assembleGroup(ArrayRef<hr::OperatorInterface> operators,
                                         KernelGroup::Loops loops,
                                         std::optional<KernelGroup::Walk> walk,
                                         llvm::function_ref<bool(Operation *)> isPerRow) {
  SmallVector<KernelGroup> parts;
  for (hr::OperatorInterface op : operators) {
    auto accepts = [&](KernelGroup &part) {
      auto isInside = [&](Operation *user) { return part.contains(user); };
      return llvm::any_of(op->getUsers(), isInside) &&
             part.tryJoin(op, !llvm::all_of(op->getUsers(), isInside), isPerRow(op));
    };
    if (llvm::none_of(parts, accepts))
      parts.emplace_back(op, loops, parts.empty() ? walk : std::nullopt);
  }
  KernelGroup &whole = parts.front();
  SmallVector<KernelGroup *> waiting;
  for (KernelGroup &part : llvm::drop_begin(parts))
    waiting.push_back(&part);
  while (!waiting.empty()) {
    auto *next = llvm::find_if(
        waiting, [&](KernelGroup *part) { return static_cast<bool>(whole.tryMerge(*part)); });
    if (next == waiting.end())
      return std::nullopt;
    waiting.erase(next);
  }
  return whole;
}

} // namespace headrace
