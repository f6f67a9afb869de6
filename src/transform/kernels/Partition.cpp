#include "transform/kernels/Partition.h"

#include "analysis/OperatorWork.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;

namespace headrace {
namespace {

/// Constants, reshapes and checks move nothing and stay between kernels; slices that are views go
/// into the kernels that read them.
bool isFree(Operation *op) {
  auto slice = dyn_cast<hr::SliceOp>(op);
  return isa<hr::ConstantOp, hr::ReshapeOp, hr::CheckOp>(op) || (slice && isReadInPlace(slice));
}

/// The stages a recipe speaks of.
llvm::StringSet<> stagesOf(const Recipe &recipe) {
  llvm::StringSet<> names;
  for (const RecipeStep &step : recipe.steps) {
    names.insert(step.stage);
    if (step.kind == RecipeStep::Kind::ComputeAt)
      names.insert(step.target);
  }
  return names;
}

class Partitioner {
public:
  Partitioner(func::FuncOp function, const std::optional<LoopModel> &schedule,
              const Machine &machine)
      : body(function.getBody().front()), schedule(schedule), machine(machine),
        loops(machine.isDevice ? KernelGroup::Loops::Whole : KernelGroup::Loops::Shared),
        sizes(nominalSizes(function)),
        scheduled(stagesOf(schedule ? schedule->recipe() : Recipe())), rowWork(findRowWork(body)) {}

  SmallVector<KernelGroup> run() {
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (auto candidate = dyn_cast<hr::OperatorInterface>(&op); candidate && !isFree(&op))
        assign(candidate);
    mergeAll();
    return inOrder();
  }

private:
  void assign(hr::OperatorInterface op) {
    if (std::string stage = stageOf(op).str(); scheduled.contains(stage))
      return assignAsScheduled(op, stage);
    llvm::SmallSetVector<size_t, 4> readers;
    for (Operation *user : op->getUsers())
      if (auto found = groupOf.find(user); found != groupOf.end())
        readers.insert(found->second);
    for (size_t reader : readers) {
      bool escapes = llvm::any_of(op->getUsers(),
                                  [&](Operation *user) { return !groups[reader].contains(user); });
      if (escapes && reaches(usersOutside(op, reader), reader))
        continue;
      if (groups[reader].tryJoin(op, escapes, rowWork.contains(op))) {
        groupOf[op] = reader;
        return;
      }
    }
    groupOf[op] = groups.size();
    groups.emplace_back(op, loops);
  }

  void assignAsScheduled(hr::OperatorInterface op, const std::string &stage) {
    const Stage &root = schedule->kernelRoot(stage);
    if (root.name == stage) {
      scheduledGroup[stage] = groups.size();
      groups.emplace_back(op, KernelGroup::Loops::Own);
    } else {
      groups[scheduledGroup[root.name]].join(op);
    }
    groupOf[op] = scheduledGroup[root.name];
  }

  SmallVector<Operation *> usersOutside(Operation *op, size_t group) const {
    SmallVector<Operation *> users;
    for (Operation *user : op->getUsers())
      if (!groups[group].contains(user))
        users.push_back(user);
    return users;
  }

  /// Whether `target` waits for any of the operators.
  bool reaches(SmallVector<Operation *> from, size_t target) const {
    llvm::SmallPtrSet<Operation *, 32> seen;
    llvm::SmallDenseSet<size_t> seenGroups;
    while (!from.empty()) {
      Operation *op = from.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      auto found = groupOf.find(op);
      if (found != groupOf.end() && found->second == target)
        return true;
      // A kernel ends as a whole: all its results wait for all its operands.
      if (found != groupOf.end() && seenGroups.insert(found->second).second)
        for (hr::OperatorInterface member : groups[found->second].getOperators())
          from.push_back(member);
      llvm::append_range(from, op->getUsers());
    }
    return false;
  }

  /// Whether there is a way between the two groups other than directly.
  bool reachesThroughOthers(size_t from, size_t to) const {
    SmallVector<Operation *> users;
    for (hr::OperatorInterface member : groups[from].getOperators())
      for (Operation *user : usersOutside(member, from))
        if (!groups[to].contains(user))
          users.push_back(user);
    return reaches(users, to);
  }

  struct Traffic {
    llvm::SmallSetVector<Value, 8> reads;
    llvm::SmallSetVector<Value, 8> computes;
    Work work;
  };
  Traffic trafficOf(const KernelGroup &group) const {
    Traffic traffic;
    double whole = 0;
    auto move = [&](Value value) {
      traffic.work.move(nominalBytes(value, sizes), 0);
      whole += traffic.work.streams.back().bytes;
    };
    for (hr::OperatorInterface op : group.getOperators()) {
      traffic.computes.insert(op->getResult(0));
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !group.contains(user); }))
        move(op->getResult(0));
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !group.contains(operand.getDefiningOp()))
          if (traffic.reads.insert(operand))
            move(operand);
    }
    for (Work::Stream &stream : traffic.work.streams)
      stream.workingSet = whole;
    return traffic;
  }

  /// Whether reading shared values once saves a good part of the time in which the smaller kernel
  /// moves its data.
  bool mergingPays(const KernelGroup &a, const KernelGroup &b) const {
    constexpr double kWorthwhilePart = 8;
    Traffic ofA = trafficOf(a), ofB = trafficOf(b);
    const Traffic &smaller = ofA.work.bytes() < ofB.work.bytes() ? ofA : ofB;
    Work saved;
    auto save = [&](Value value) { saved.move(nominalBytes(value, sizes), smaller.work.bytes()); };
    for (Value value : ofA.reads)
      if (ofB.reads.contains(value) || ofB.computes.contains(value))
        save(value);
    for (Value value : ofB.reads)
      if (ofA.computes.contains(value))
        save(value);
    // The call is saved in either case, and does not decide.
    saved.kernelCalls = 0;
    Work moved = smaller.work;
    moved.kernelCalls = 0;
    return machine.cost->microseconds(saved) * kWorthwhilePart >= machine.cost->microseconds(moved);
  }

  /// Groups that read or compute what this one reads, and those that read what it computes. A value
  /// that very many read (one weight throughout a network) suggests a few of them, not every pair.
  llvm::SmallSetVector<size_t, 8> neighbours(size_t group) const {
    constexpr size_t kMostReaders = 16;
    llvm::SmallSetVector<size_t, 8> result;
    auto consider = [&](Operation *op) {
      auto found = groupOf.find(op);
      return found != groupOf.end() && found->second != group && result.insert(found->second);
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

  /// Merges groups with earlier ones until no pair is left that gains by it. Only a group that has
  /// changed can accept what it refused before.
  void mergeAll() {
    std::set<size_t> pending;
    for (size_t i = 0; i < groups.size(); ++i)
      pending.insert(i);
    while (!pending.empty()) {
      size_t later = *pending.begin();
      pending.erase(pending.begin());
      std::optional<size_t> earlier = mergeIntoEarlier(later);
      if (!earlier)
        continue;
      pending.insert(*earlier);
      for (size_t other : neighbours(*earlier))
        if (other > *earlier)
          pending.insert(other);
    }
  }

  std::optional<size_t> mergeIntoEarlier(size_t later) {
    for (size_t earlier : neighbours(later)) {
      if (earlier > later || !mergingPays(groups[earlier], groups[later]))
        continue;
      // Ways through other groups come last: looking for them walks the program.
      KernelGroup both = groups[earlier];
      if (!both.tryMerge(groups[later]) || reachesThroughOthers(earlier, later) ||
          reachesThroughOthers(later, earlier))
        continue;
      groups[earlier] = std::move(both);
      for (hr::OperatorInterface op : groups[later].getOperators())
        groupOf[op] = earlier;
      return earlier;
    }
    return std::nullopt;
  }

  /// Every group after those it reads from.
  SmallVector<KernelGroup> inOrder() {
    SmallVector<KernelGroup> result;
    llvm::DenseSet<size_t> done;
    std::function<void(Operation *)> visit = [&](Operation *op) {
      auto found = groupOf.find(op);
      if (found == groupOf.end()) {
        for (Value operand : op->getOperands())
          if (Operation *producer = operand.getDefiningOp())
            visit(producer);
        return;
      }
      if (!done.insert(found->second).second)
        return;
      for (hr::OperatorInterface member : groups[found->second].getOperators())
        for (Value operand : member->getOperands())
          if (Operation *producer = operand.getDefiningOp())
            visit(producer);
      result.push_back(groups[found->second]);
    };
    for (Operation &op : body)
      visit(&op);
    return result;
  }

  Block &body;
  const std::optional<LoopModel> &schedule;
  const Machine &machine;
  KernelGroup::Loops loops;
  NominalSizes sizes;
  llvm::StringSet<> scheduled;
  llvm::StringMap<size_t> scheduledGroup;
  llvm::DenseSet<Operation *> rowWork;
  SmallVector<KernelGroup> groups;
  llvm::DenseMap<Operation *, size_t> groupOf;
};

} // namespace

SmallVector<KernelGroup> partition(func::FuncOp function, const std::optional<LoopModel> &schedule,
                                   const Machine &machine) {
  return Partitioner(function, schedule, machine).run();
}

} // namespace headrace
