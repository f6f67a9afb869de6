#include "transform/kernels/Partition.h"

#include "transform/choices/Verbs.h"
#include "transform/kernels/GroupCost.h"
#include "transform/kernels/Grouping.h"
#include "transform/kernels/MergeGroups.h"
#include "transform/kernels/PlanKernels.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

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
  Partitioner(func::FuncOp function, const KernelRules &rules,
              const std::optional<LoopModel> &schedule, const Machine &machine, Choices &choices,
              const Borders &borders)
      : borders(borders), body(function.getBody().front()), schedule(schedule), rules(rules),
        cost(function, rules, machine), choices(choices),
        scheduled(stagesOf(schedule ? schedule->recipe() : Recipe())), grouping(body, rules) {}

  SmallVector<KernelGroup> run() {
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (auto candidate = dyn_cast<hr::OperatorInterface>(&op); candidate && !isFree(&op))
        assign(candidate);
    mergeGivenFusions();
    checkFusions();
    mergeAsGiven();
    bool isWhole = namesAllKernels();
    auto isSettled = [&](size_t group) { return isWhole || isFixed(group); };
    mergeGroups(
        grouping, cost,
        [&](size_t group) {
          return isSettled(group) || choices.isKernel(grouping[group].namesake());
        },
        refusals);
    if (plansByTime()) {
      PlanCounts planned = planKernels(grouping, body, rules, cost, isSettled,
                                       [&](const KernelGroup &group) { return keepsNames(group); });
      choices.notePlanning(planned.text());
    }
    takeBorders();
    checkWalks();
    noteKernels();
    noteUnsupportedSteps();
    choices.finish({verbs::fuse.name, verbs::separate.name, verbs::walk.name});
    return grouping.inOrder();
  }

private:
  void assign(hr::OperatorInterface op) {
    if (std::string stage = stageOf(op).str(); scheduled.contains(stage))
      return assignAsScheduled(op, stage);
    if (borders.contains(op))
      return startGroup(op);
    std::optional<std::string> into = choices.wanted(verbs::fuse, op);
    if (into)
      fusions.insert(
          {op, {*into, FusionDecision::no("neither of the two reads the other's result")}});
    bool isSeparate = choices.wanted(verbs::separate, op).has_value();
    if (isSeparate)
      given.insert(op);
    if (isSeparate || isRootByRecipe(op))
      return startGroup(op);
    llvm::SmallSetVector<size_t, 4> readers = grouping.readersOf(op);
    // In the order in which assembleGroup asks them.
    SmallVector<size_t> inOrder(readers.begin(), readers.end());
    llvm::sort(inOrder);
    for (size_t reader : inOrder)
      if (isMeantFor(op, into, reader)) {
        FusionDecision decision = tryJoin(op, reader);
        if (decision)
          return;
        for (Operation *other : grouping[reader].getOperators())
          noteUnsupported(other, decision);
        noteUnsupported(op, decision);
      }
    // Kernels that the recipe speaks of take nothing that it has other plans for.
    bool isPlanned = into || choices.isKernel(op);
    for (size_t reader : readers)
      if (!(isPlanned && isGiven(grouping[reader])) && tryJoin(op, reader))
        return;
    startGroup(op);
  }

  void startGroup(hr::OperatorInterface op) {
    std::optional<KernelGroup::Walk> walk = givenWalk(op);
    if (walk)
      given.insert(op);
    if (walk && walk->dim)
      walks.push_back(op);
    grouping.start(KernelGroup(op, rules, walk));
  }

  /// A kernel is called after what it is built around: an operator that the recipe calls a kernel
  /// is that, or computes its result.
  bool isRootByRecipe(Operation *op) const { return choices.isKernel(op) && !isAnchor(op); }

  /// Whether the recipe puts the operator and the group into one kernel.
  bool isMeantFor(Operation *op, const std::optional<std::string> &into, size_t reader) const {
    const OperatorNames &names = choices.operators();
    return llvm::any_of(grouping[reader].getOperators(), [&](Operation *member) {
      if (into && names.means(*into, member))
        return true;
      auto fusion = fusions.find(member);
      return fusion != fusions.end() &&
             (into ? fusion->second.into == *into : names.means(fusion->second.into, op));
    });
  }

  void noteUnsupported(Operation *op, FusionDecision decision) {
    if (auto fusion = fusions.find(op); fusion != fusions.end())
      fusion->second.decision = decision;
  }

  /// Operators that read the same, and that the recipe puts into one kernel: each has a group of
  /// its own so far.
  void mergeGivenFusions() {
    llvm::MapVector<StringRef, SmallVector<Operation *>> kernels;
    for (auto &[op, fusion] : fusions)
      kernels[fusion.into].push_back(op);
    for (auto &[name, operators] : kernels) {
      // Those of now: kernels before this one may have taken theirs along.
      llvm::SmallSetVector<size_t, 4> groups;
      for (Operation *op : operators)
        groups.insert(*grouping.find(op));
      for (size_t group : groupsOf(name))
        groups.insert(group);
      SmallVector<size_t> waiting(groups.begin(), groups.end());
      llvm::sort(waiting);
      size_t whole = waiting.front();
      waiting.erase(waiting.begin());
      while (!waiting.empty()) {
        auto *next = llvm::find_if(waiting, [&](size_t group) {
          return static_cast<bool>(grouping.tryMerge(whole, group));
        });
        if (next == waiting.end())
          break;
        waiting.erase(next);
      }
    }
    for (auto &[op, fusion] : fusions)
      if (!holds(*grouping.find(op), fusion.into))
        for (size_t group : groupsOf(fusion.into))
          if (unite(*grouping.find(op), group, fusion.decision))
            break;
  }

  /// Whether the group has an operator of that name.
  bool holds(size_t group, StringRef name) const {
    return llvm::any_of(grouping[group].getOperators(),
                        [&](Operation *op) { return choices.operators().means(name, op); });
  }

  SmallVector<size_t> groupsOf(StringRef name) const {
    SmallVector<size_t> found;
    for (size_t group = 0; group < grouping.size(); ++group)
      if (grouping.isAlive(group) && holds(group, name))
        found.push_back(group);
    return found;
  }

  /// Makes one kernel of two that rules of thumb kept apart, as planning by time could: with what
  /// stands between them, unless the recipe has other plans for that.
  bool unite(size_t a, size_t b, FusionDecision &decision) {
    SmallVector<size_t> united = grouping.withThoseBetween({a, b});
    bool areLinked = united.size() > 2 || grouping.neighbours(a).contains(b);
    if (!areLinked || llvm::any_of(united, [&](size_t group) {
          bool isBetween = group != a && group != b;
          return (isBetween && choices.isKernel(grouping[group].namesake())) ||
                 llvm::any_of(grouping[group].getOperators(),
                              [&](Operation *op) { return given.contains(op); });
        }))
      return false;
    FusionDecision found = grouping.tryUnite(united);
    if (!found && grouping.neighbours(a).contains(b))
      decision = found;
    return static_cast<bool>(found);
  }

  void checkFusions() {
    const OperatorNames &names = choices.operators();
    for (auto &[op, fusion] : fusions) {
      if (!names.isKnown(fusion.into))
        choices.refuse(verbs::fuse, op,
                       "there is no operator '" + fusion.into + "' at that point; there are " +
                           names.similarTo(fusion.into));
      else if (!holds(*grouping.find(op), fusion.into))
        choices.refuse(verbs::fuse, op, fusion.decision.reason());
    }
  }

  /// Whether the recipe says what the group's kernel is built of.
  bool isGiven(const KernelGroup &group) const {
    return llvm::any_of(group.getOperators(), [&](Operation *member) {
      auto fusion = fusions.find(member);
      return choices.isKernel(member) ||
             (fusion != fusions.end() && choices.isKernel(fusion->second.into));
    });
  }

  /// Whether the first plan is to be improved, as it is unless the recipe says otherwise.
  bool plansByTime() {
    bool isByTime = true;
    for (const ProgramStep &step : choices.take(verbs::plan)) {
      isByTime = step.object != "greedily";
      if (!isByTime)
        choices.note(step);
    }
    return isByTime;
  }

  /// Whether the recipe speaks of every kernel there is.
  bool namesAllKernels() const {
    for (size_t group = 0; group < grouping.size(); ++group)
      if (grouping.isAlive(group) && !borders.contains(grouping[group].root()) &&
          !choices.isKernel(grouping[group].namesake()))
        return false;
    return true;
  }

  /// Kernels that the recipe speaks of stay kernels of these names.
  bool keepsNames(const KernelGroup &group) const {
    return llvm::all_of(group.getOperators(), [&](Operation *op) {
      return !choices.isKernel(op) || group.namesake() == op;
    });
  }

  /// Whether the recipe says which operators the group has.
  bool isFixed(size_t group) const {
    return grouping[group].keepsAxes() ||
           llvm::any_of(grouping[group].getOperators(), [&](Operation *member) {
             return given.contains(member) || fusions.contains(member);
           });
  }

  FusionDecision tryJoin(hr::OperatorInterface op, size_t reader) {
    FusionDecision decision = grouping.tryJoin(op, reader);
    if (!decision)
      refusals.push_back({verbs::fuse.name, op, grouping[reader].namesake(), decision});
    return decision;
  }

  std::optional<KernelGroup::Walk> givenWalk(hr::OperatorInterface op) {
    std::optional<std::string> axis = choices.wanted(verbs::walk, op);
    if (!axis)
      return std::nullopt;
    if (*axis == kNothing) {
      standing.push_back(op);
      return KernelGroup::Walk{};
    }
    std::string known;
    for (unsigned dim = 0; dim < rules.movementOf(op).domain.size(); ++dim) {
      if (axisName(op, dim) == *axis)
        return KernelGroup::Walk{dim};
      known += (known.empty() ? "" : ", ") + axisName(op, dim);
    }
    choices.refuse(verbs::walk, op, "expected one of the axes " + known + ", or nothing");
    return std::nullopt;
  }

  void assignAsScheduled(hr::OperatorInterface op, const std::string &stage) {
    const Stage &root = schedule->kernelRoot(stage);
    if (root.name == stage)
      scheduledGroup[stage] = grouping.start(KernelGroup::scheduled(op, rules));
    else
      grouping.join(op, scheduledGroup[root.name]);
  }

  /// In the order of the recipe: what a kernel takes depends on what it holds.
  void mergeAsGiven() {
    for (const ProgramStep &step : choices.take(verbs::merge)) {
      std::optional<size_t> earlier = kernelOf(step.object), later = kernelOf(step.subject);
      if (!earlier || !later) {
        choices.refuse(step, "there is no kernel '" + (earlier ? step.subject : step.object) + "'");
        continue;
      }
      given.insert(grouping[*earlier].root());
      given.insert(grouping[*later].root());
      if (*earlier >= *later)
        choices.refuse(step, *earlier == *later
                                 ? "they are one kernel already"
                                 : "the other way round: the kernel that comes later takes over");
      else if (FusionDecision decision = grouping.tryMerge(*earlier, *later); !decision)
        choices.refuse(step, decision.reason());
    }
  }

  std::optional<size_t> kernelOf(StringRef name) const {
    for (size_t i = 0; i < grouping.size(); ++i)
      if (grouping.isAlive(i) && choices.operators().means(name, grouping[i].namesake()))
        return i;
    return std::nullopt;
  }

  void checkWalks() {
    for (Operation *op : walks)
      if (!grouping[*grouping.find(op)].walkAxis())
        choices.refuse(verbs::walk, op,
                       "its kernel holds nothing that gains by going through rows along that axis, "
                       "or something that cannot");
  }

  /// Kernels write the padding of their results, if they can.
  void takeBorders() {
    for (Operation *op : borders) {
      auto pad = cast<hr::PadOp>(op);
      Operation *producer = pad.getInput().getDefiningOp();
      FusionDecision decision = choices.isKernel(pad)
                                    ? FusionDecision::no("the recipe has a kernel for it")
                                    : grouping.tryBorder(pad);
      std::optional<std::string> into = choices.wanted(verbs::fuse, pad);
      bool isMeant = !into || llvm::any_of(grouping[*grouping.find(producer)].getOperators(),
                                           [&](Operation *member) {
                                             return choices.operators().means(*into, member);
                                           });
      if (into && !(decision && isMeant))
        choices.refuse(verbs::fuse, pad,
                       decision ? "another kernel computes the image that it pads"
                                : decision.reason());
      if (!decision)
        refusals.push_back({verbs::fuse.name, pad, producer, decision});
    }
  }

  /// From the last kernel on, in whatever order they were planned.
  void noteKernels() {
    for (Operation &op : llvm::reverse(body)) {
      std::optional<size_t> found = grouping.find(&op);
      if (!found || grouping[*found].root() != &op)
        continue;
      const KernelGroup &group = grouping[*found];
      for (Operation *member : group.getOperators())
        if (member != group.namesake())
          choices.note(verbs::fuse, member, choices.nameOf(group.namesake()));
      if (group.border())
        choices.note(verbs::fuse, group.border(), choices.nameOf(group.namesake()));
      if (std::optional<KernelGroup::Walk> walk = group.walkOfRoot())
        choices.note(verbs::walk, group.root(), axisName(group.root(), *walk->dim));
    }
    for (Operation *op : standing)
      choices.note(verbs::walk, op, kNothing);
  }

  /// Notes fusions that were rejected on the way and are not there in the end either.
  void noteUnsupportedSteps() {
    for (const UnsupportedFusion &refusal : refusals) {
      bool isBorder = borders.contains(refusal.op) &&
                      grouping[*grouping.find(refusal.op)].border() == refusal.op;
      if (isBorder || grouping.find(refusal.op) == grouping.find(refusal.into))
        continue;
      AffineExpr bytes;
      if (refusal.verb == verbs::fuse.name) {
        // It would not be read again, nor written if none but the kernel reads it.
        const KernelGroup &reader = grouping[*grouping.find(refusal.into)];
        bool escapes = !llvm::all_of(refusal.op->getUsers(),
                                     [&](Operation *user) { return reader.contains(user); });
        bytes = byteCount(cast<RankedTensorType>(refusal.op->getResult(0).getType()));
        bytes = escapes ? bytes : bytes * 2;
      }
      choices.noteMissed(refusal.verb, refusal.op, choices.nameOf(refusal.into),
                         refusal.decision.reason(), bytes);
    }
  }

  const Borders &borders;
  Block &body;
  const std::optional<LoopModel> &schedule;
  const KernelRules &rules;
  GroupCost cost;
  Choices &choices;
  llvm::StringSet<> scheduled;
  llvm::StringMap<size_t> scheduledGroup;
  Grouping grouping;
  /// Operators that the recipe speaks of, and those that it fuses into the kernel of another, with
  /// the reason if that is not possible.
  struct Fusion {
    std::string into;
    FusionDecision decision;
  };
  llvm::DenseSet<Operation *> given;
  SmallVector<Operation *> walks, standing; // that are to go through rows, and that are not to
  llvm::MapVector<Operation *, Fusion> fusions;
  SmallVector<UnsupportedFusion> refusals;
};

} // namespace

SmallVector<KernelGroup> partition(func::FuncOp function, const KernelRules &rules,
                                   const std::optional<LoopModel> &schedule, const Machine &machine,
                                   Choices &choices, const Borders &borders) {
  return Partitioner(function, rules, schedule, machine, choices, borders).run();
}

} // namespace headrace
