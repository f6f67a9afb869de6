#include "transform/kernels/Partition.h"

#include "analysis/OperatorWork.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/MapVector.h"
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

constexpr StringLiteral kNothing = "nothing"; // walk relu1 along nothing

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
              const Machine &machine, Choices &choices)
      : body(function.getBody().front()), schedule(schedule), machine(machine),
        loops(machine.policy.walksRows ? KernelGroup::Loops::Shared : KernelGroup::Loops::Whole),
        sizes(nominalSizes(function)), choices(choices),
        scheduled(stagesOf(schedule ? schedule->recipe() : Recipe())), rowWork(findRowWork(body)) {}

  SmallVector<KernelGroup> run() {
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (auto candidate = dyn_cast<hr::OperatorInterface>(&op); candidate && !isFree(&op))
        assign(candidate);
    checkFusions();
    noteFusions();
    mergeAsGiven();
    mergeAll();
    noteWalks();
    choices.finish({"fuse", "separate", "walk"});
    return inOrder();
  }

private:
  void assign(hr::OperatorInterface op) {
    if (std::string stage = stageOf(op).str(); scheduled.contains(stage))
      return assignAsScheduled(op, stage);
    std::optional<std::string> into = choices.wanted("fuse", op);
    if (into)
      fusions.insert({op, {*into, Verdict::no("neither of the two reads the other's result")}});
    if (choices.wanted("separate", op) || isRootByRecipe(op)) {
      separated.insert(op);
      return startGroup(op);
    }
    llvm::SmallSetVector<size_t, 4> readers = readersOf(op);
    for (size_t reader : readers)
      if (isMeantFor(op, into, reader)) {
        Verdict verdict = tryJoin(op, reader);
        if (verdict)
          return;
        for (Operation *other : groups[reader].getOperators())
          noteRefusal(other, verdict);
        noteRefusal(op, verdict);
      }
    // Kernels that the recipe speaks of take nothing that it has other plans for.
    bool isPlanned = into || choices.isKernel(op);
    for (size_t reader : readers)
      if (!(isPlanned && isGiven(groups[reader])) && tryJoin(op, reader))
        return;
    startGroup(op);
  }

  void startGroup(hr::OperatorInterface op) {
    groupOf[op] = groups.size();
    groups.emplace_back(op, loops, givenWalk(op));
  }

  /// A kernel is called after what it is built around: an operator that the recipe calls a kernel
  /// is that, or computes its result.
  bool isRootByRecipe(Operation *op) const { return choices.isKernel(op) && !isAnchor(op); }

  /// Whether the recipe puts the operator and the group into one kernel.
  bool isMeantFor(Operation *op, const std::optional<std::string> &into, size_t reader) const {
    const OperatorNames &names = choices.operators();
    return llvm::any_of(groups[reader].getOperators(), [&](Operation *member) {
      if (into && names.means(*into, member))
        return true;
      auto fusion = fusions.find(member);
      return fusion != fusions.end() &&
             (into ? fusion->second.into == *into : names.means(fusion->second.into, op));
    });
  }

  void noteRefusal(Operation *op, Verdict verdict) {
    if (auto fusion = fusions.find(op); fusion != fusions.end())
      fusion->second.verdict = verdict;
  }

  void checkFusions() {
    const OperatorNames &names = choices.operators();
    for (auto &[op, fusion] : fusions) {
      auto isMeant = [&](Operation *other) { return names.means(fusion.into, other); };
      if (!names.isKnown(fusion.into))
        choices.refuse("fuse", op,
                       "there is no operator '" + fusion.into + "' at that point; there are " +
                           names.similarTo(fusion.into));
      else if (llvm::none_of(groups[groupOf.lookup(op)].getOperators(), isMeant))
        choices.refuse("fuse", op, fusion.verdict.reason());
    }
  }

  void noteFusions() {
    for (const KernelGroup &group : groups)
      for (Operation *op : group.getOperators())
        if (op != group.namesake())
          choices.note("fuse", op, choices.nameOf(group.namesake()));
  }

  /// Whether the recipe says what the group's kernel is built of.
  bool isGiven(const KernelGroup &group) const {
    return llvm::any_of(group.getOperators(), [&](Operation *member) {
      auto fusion = fusions.find(member);
      return choices.isKernel(member) ||
             (fusion != fusions.end() && choices.isKernel(fusion->second.into));
    });
  }

  llvm::SmallSetVector<size_t, 4> readersOf(Operation *op) const {
    llvm::SmallSetVector<size_t, 4> readers;
    for (Operation *user : op->getUsers())
      if (auto found = groupOf.find(user); found != groupOf.end())
        readers.insert(found->second);
    return readers;
  }

  Verdict tryJoin(hr::OperatorInterface op, size_t reader) {
    bool escapes = llvm::any_of(op->getUsers(),
                                [&](Operation *user) { return !groups[reader].contains(user); });
    Verdict verdict = escapes && reaches(usersOutside(op, reader), reader)
                          ? Verdict::no("the kernel would wait for its own result")
                          : groups[reader].tryJoin(op, escapes, rowWork.contains(op));
    if (verdict) {
      groupOf[op] = reader;
      return verdict;
    }
    // It would not be read again, nor written where none but the kernel reads it.
    AffineExpr bytes = byteCount(cast<RankedTensorType>(op->getResult(0).getType()));
    choices.whyNot("fuse", op, choices.nameOf(groups[reader].namesake()), verdict.reason(),
                   escapes ? bytes : bytes * 2);
    return verdict;
  }

  std::optional<KernelGroup::Walk> givenWalk(hr::OperatorInterface op) {
    std::optional<std::string> axis = choices.wanted("walk", op);
    if (!axis)
      return std::nullopt;
    if (*axis == kNothing)
      return KernelGroup::Walk{};
    std::string known;
    for (unsigned dim = 0; dim < op.getMovement().domain.size(); ++dim) {
      if (axisName(op, dim) == *axis)
        return KernelGroup::Walk{dim};
      known += (known.empty() ? "" : ", ") + axisName(op, dim);
    }
    choices.refuse("walk", op, "expected one of the axes " + known + ", or nothing");
    return std::nullopt;
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
      if (groupOf.lookup(groups[i].root()) == i)
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
    if (separated.contains(groups[later].root()) || choices.isKernel(groups[later].namesake()))
      return std::nullopt;
    for (size_t earlier : neighbours(later)) {
      if (earlier > later)
        continue;
      Verdict verdict = mergingPays(groups[earlier], groups[later])
                            ? tryMerge(earlier, later)
                            : Verdict::no("little of the time of either would be saved");
      if (verdict)
        return earlier;
      choices.whyNot("merge", groups[later].namesake(), choices.nameOf(groups[earlier].namesake()),
                     verdict.reason());
    }
    return std::nullopt;
  }

  /// In the order of the recipe: what a kernel takes depends on what it holds.
  void mergeAsGiven() {
    for (const ProgramStep &step : choices.take("merge")) {
      std::optional<size_t> earlier = kernelOf(step.object), later = kernelOf(step.subject);
      if (!earlier || !later) {
        choices.refuse(step, "there is no kernel '" + (earlier ? step.subject : step.object) + "'");
        continue;
      }
      if (*earlier >= *later)
        choices.refuse(step, *earlier == *later
                                 ? "they are one kernel already"
                                 : "the other way round: the kernel that comes later takes over");
      else if (Verdict verdict = tryMerge(*earlier, *later); !verdict)
        choices.refuse(step, verdict.reason());
    }
  }

  std::optional<size_t> kernelOf(StringRef name) const {
    for (const auto &[i, group] : llvm::enumerate(groups))
      if (groupOf.lookup(group.root()) == i && choices.operators().means(name, group.namesake()))
        return i;
    return std::nullopt;
  }

  Verdict tryMerge(size_t earlier, size_t later) {
    // Ways through other groups come last: looking for them walks the program.
    KernelGroup both = groups[earlier];
    if (Verdict verdict = both.tryMerge(groups[later]); !verdict)
      return verdict;
    if (reachesThroughOthers(earlier, later) || reachesThroughOthers(later, earlier))
      return Verdict::no("the kernel would wait for its own result");
    // The recipe names both: whoever follows it starts from two kernels as well.
    choices.note("separate", groups[later].root());
    choices.note("merge", groups[later].namesake(), choices.nameOf(groups[earlier].namesake()));
    groups[earlier] = std::move(both);
    for (hr::OperatorInterface op : groups[later].getOperators())
      groupOf[op] = earlier;
    return Verdict::yes();
  }

  void noteWalks() {
    for (const auto &[i, group] : llvm::enumerate(groups)) {
      hr::OperatorInterface root = group.root();
      if (groupOf.lookup(root) != i || !group.walkAxis())
        continue;
      for (auto [dim, ref] : llvm::enumerate(group.domainOf(root)))
        if (ref == AxisRef::axis(*group.walkAxis()))
          choices.note("walk", root, axisName(root, dim));
    }
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
  Choices &choices;
  llvm::StringSet<> scheduled;
  llvm::StringMap<size_t> scheduledGroup;
  llvm::DenseSet<Operation *> rowWork;
  SmallVector<KernelGroup> groups;
  llvm::DenseMap<Operation *, size_t> groupOf;
  /// Operators that the recipe gives a kernel of their own, and those that it fuses into the kernel
  /// of another, with the reason where that is not possible.
  struct Fusion {
    std::string into;
    Verdict verdict;
  };
  llvm::DenseSet<Operation *> separated;
  llvm::MapVector<Operation *, Fusion> fusions;
};

} // namespace

SmallVector<KernelGroup> partition(func::FuncOp function, const std::optional<LoopModel> &schedule,
                                   const Machine &machine, Choices &choices) {
  return Partitioner(function, schedule, machine, choices).run();
}

} // namespace headrace
