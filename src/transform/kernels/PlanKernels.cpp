#include "transform/kernels/PlanKernels.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace headrace {
namespace {

/// Sets of operators that are looked at as kernels if a part is improved piece by piece: a limit
/// on compile time.
constexpr size_t kSetsPerOperator = 8, kSetsAtLeast = 1024;

/// A plan that is predicted to take more than this share of the first one's time is no better: the
/// cost model does not see smaller differences.
constexpr double kClearly = 0.95;

class Planner {
public:
  Planner(Grouping &grouping, Block &body, const KernelRules &rules, GroupCost &cost,
          PartPlan::IsAllowed isAllowed)
      : grouping(grouping), body(body), rules(rules), cost(cost), links(body, rules, cost),
        isAllowed(isAllowed) {}

  PlanCounts run(llvm::function_ref<bool(size_t)> isFixed) {
    for (const auto &[leader, groups] : parts(isFixed))
      if (groups.size() > 1 || mayBeBetterApart(groups.front()))
        plan(groups);
    return counts;
  }

private:
  using Groups = SmallVector<size_t>;

  /// Functions in one kernel with reads by index have no vectors.
  bool mayBeBetterApart(size_t group) {
    return grouping[group].getOperators().size() > 1 && cost.readsByIndex(grouping[group]);
  }

  /// Groups with operators that could share kernels.
  llvm::MapVector<size_t, Groups> parts(llvm::function_ref<bool(size_t)> isFixed) {
    llvm::EquivalenceClasses<size_t> classes;
    auto groupOf = [&](Operation *op) -> std::optional<size_t> {
      std::optional<size_t> group = grouping.find(op);
      return group && grouping[*group].isStructured() && !isFixed(*group) ? group : std::nullopt;
    };
    auto link = [&](Operation *a, Operation *b, auto test) {
      std::optional<size_t> groupA = groupOf(a), groupB = groupOf(b);
      if (groupA && groupB && !classes.isEquivalent(*groupA, *groupB) &&
          test(cast<hr::OperatorInterface>(a), cast<hr::OperatorInterface>(b)))
        classes.unionSets(*groupA, *groupB);
    };
    auto linkReaders = [&](Value value) {
      constexpr size_t kMaxReaders = 16;
      SmallVector<Operation *> readers;
      for (Operation *user : value.getUsers())
        if (readers.size() < kMaxReaders && !llvm::is_contained(readers, user))
          readers.push_back(user);
      for (auto [i, reader] : llvm::enumerate(readers))
        for (Operation *other : ArrayRef(readers).take_front(i))
          link(other, reader, [&](auto a, auto b) { return links.mayMerge(a, b); });
    };
    for (size_t i = 0; i < grouping.size(); ++i)
      if (grouping.isAlive(i) && groupOf(grouping[i].root()))
        classes.insert(i);
    for (Value argument : body.getArguments())
      linkReaders(argument);
    for (Operation &op : body)
      for (Value result : op.getResults()) {
        for (Operation *user : result.getUsers())
          link(&op, user, [&](auto a, auto b) { return links.mayJoin(a, b); });
        linkReaders(result);
      }
    llvm::MapVector<size_t, Groups> parts;
    for (size_t i = 0; i < grouping.size(); ++i)
      if (auto found = classes.findLeader(i); found != classes.member_end())
        parts[*found].push_back(i);
    return parts;
  }

  SmallVector<hr::OperatorInterface> operatorsOf(ArrayRef<size_t> groups) const {
    SmallVector<hr::OperatorInterface> operators;
    for (size_t group : groups)
      llvm::append_range(operators, grouping[group].getOperators());
    llvm::sort(operators, [](hr::OperatorInterface a, hr::OperatorInterface b) {
      return a->isBeforeInBlock(b);
    });
    return operators;
  }

  double microsecondsOf(ArrayRef<size_t> groups) {
    double sum = 0;
    for (size_t group : groups)
      sum += cost.of(grouping[group]);
    return sum;
  }

  void plan(ArrayRef<size_t> groups) {
    ++counts.parts;
    double before = microsecondsOf(groups);
    counts.before += before;
    double saved = 0;
    if (operatorsOf(groups).size() > PartPlan::kMaxOperators)
      saved = improve(groups);
    else if (Replanned whole = replan(groups); whole.isTooLarge && groups.size() > 1)
      saved = improve(groups);
    else
      saved = whole.saved;
    counts.after += before - saved;
  }

  struct Replanned {
    double saved = 0;
    Groups groups; // that stand for the old ones
    bool isTooLarge = false;
  };
  Replanned replan(ArrayRef<size_t> groups) {
    SmallVector<hr::OperatorInterface> operators = operatorsOf(groups);
    double before = microsecondsOf(groups);
    PartPlan part(operators, rules, cost, links, counts, isAllowed);
    std::optional<SmallVector<KernelGroup>> faster = part.fasterThan(before * kClearly);
    size_t first = grouping.size();
    Replanned result;
    result.isTooLarge = part.isTooLarge();
    if (!faster || !grouping.tryReplace(std::move(*faster)))
      return result;
    for (size_t i = first; i < grouping.size(); ++i)
      result.groups.push_back(i);
    result.saved = before - microsecondsOf(result.groups);
    return result;
  }

  /// Two groups at a time, best first.
  double improve(ArrayRef<size_t> groups) {
    ++counts.tooLarge;
    llvm::SmallDenseSet<size_t> members(groups.begin(), groups.end());
    // Keys come with the groups: those of equal gain are gone through in the program's order.
    std::multimap<std::pair<double, size_t>, std::pair<size_t, size_t>> pending;
    auto consider = [&](size_t a, size_t b) {
      SmallVector<hr::OperatorInterface> both = operatorsOf({a, b});
      if (both.size() > PartPlan::kMaxOperators)
        return;
      double gain = microsecondsOf({a, b}) - cost.ofSharingAll(both);
      if (gain > 0)
        pending.insert({{-gain, std::min(a, b)}, {a, b}});
    };
    auto considerAll = [&](size_t group, bool later) {
      for (size_t other : grouping.neighbours(group))
        if (members.contains(other) && (later || other > group))
          consider(group, other);
    };
    for (size_t group : groups)
      considerAll(group, false);
    double saved = 0;
    size_t limit = counts.sets + kSetsAtLeast + kSetsPerOperator * operatorsOf(groups).size();
    while (!pending.empty() && counts.sets < limit) {
      auto [a, b] = pending.begin()->second;
      pending.erase(pending.begin());
      if (!members.contains(a) || !members.contains(b))
        continue;
      Replanned result = replan({a, b});
      if (result.groups.empty())
        continue;
      saved += result.saved;
      members.erase(a);
      members.erase(b);
      members.insert(result.groups.begin(), result.groups.end());
      for (size_t group : result.groups)
        considerAll(group, true);
    }
    return saved;
  }

  Grouping &grouping;
  Block &body;
  const KernelRules &rules;
  GroupCost &cost;
  KernelLinks links;
  PartPlan::IsAllowed isAllowed;
  PlanCounts counts;
};

} // namespace

PlanCounts planKernels(Grouping &grouping, Block &body, const KernelRules &rules, GroupCost &cost,
                       llvm::function_ref<bool(size_t)> isFixed, PartPlan::IsAllowed isAllowed) {
  return Planner(grouping, body, rules, cost, isAllowed).run(isFixed);
}

} // namespace headrace
