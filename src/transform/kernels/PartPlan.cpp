#include "transform/kernels/PartPlan.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <functional>
#include <limits>

using namespace mlir;

namespace headrace {

/// More sets of operators than this are not looked at: the plan stays as it is, or is improved in
/// pieces.
static constexpr size_t kMaxSets = 4096;
/// After this many plans, whole or begun, the best one stands.
static constexpr size_t kMaxPlans = 1 << 16;
/// Differences in time that arithmetic alone makes.
static constexpr double kNoise = 1e-9;

PartPlan::PartPlan(ArrayRef<hr::OperatorInterface> operators, const KernelRules &rules,
                   GroupCost &cost, const KernelLinks &links, PlanCounts &counts,
                   IsAllowed isAllowed)
    : operators(operators), rules(rules), cost(cost), links(links), counts(counts),
      isAllowed(isAllowed), linked(operators.size()), waiting(operators.size()),
      outside(operators.size()), candidates(operators.size()), prices(operators.size()),
      setsBefore(counts.sets) {
  llvm::SmallDenseMap<Operation *, unsigned> placeOf;
  for (auto [i, op] : llvm::enumerate(operators))
    placeOf[op] = i;
  auto link = [&](unsigned a, unsigned b) {
    linked[a] |= Set(1) << b;
    linked[b] |= Set(1) << a;
  };
  for (auto [i, op] : llvm::enumerate(operators))
    for (auto [j, other] : llvm::enumerate(operators.take_front(i))) {
      bool reads = llvm::is_contained(op->getOperands(), other->getResult(0));
      if (reads ? links.mayJoin(other, op) || links.mayMerge(other, op) : links.mayMerge(other, op))
        link(i, j);
    }
  // The operators that each operation between the first and the last one waits for, and those for
  // which it waits through operations that are not among the operators.
  struct WaitsFor {
    Set all = 0, throughOthers = 0;
  };
  llvm::DenseMap<Operation *, WaitsFor> waits;
  Operation *end = operators.back()->getNextNode();
  for (Operation *op = operators.front(); op != end; op = op->getNextNode()) {
    WaitsFor own;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      auto known = producer ? waits.find(producer) : waits.end();
      if (known == waits.end())
        continue;
      own.all |= known->second.all;
      auto place = placeOf.find(producer);
      own.throughOthers |= known->second.throughOthers;
      if (place == placeOf.end())
        own.throughOthers |= known->second.all;
      else
        own.all |= Set(1) << place->second;
    }
    if (auto place = placeOf.find(op); place != placeOf.end())
      for (unsigned i = 0; i < operators.size(); ++i) {
        waiting[i] |= Set((own.all >> i) & 1) << place->second;
        outside[i] |= Set((own.throughOthers >> i) & 1) << place->second;
      }
    waits[op] = own;
  }
}

/// Whether no member waits for another member through an operator that is not a member.
bool PartPlan::isClosed(Set members) const {
  Set behind = 0;
  for (unsigned i = 0; i < operators.size(); ++i)
    if ((members >> i) & 1) {
      if (outside[i] & members)
        return false;
      behind |= waiting[i];
    }
  for (unsigned i = 0; i < operators.size(); ++i)
    if (((behind & ~members) >> i) & 1 && (waiting[i] & members))
      return false;
  return true;
}

/// Operators that are not members, but could share a kernel with one.
PartPlan::Set PartPlan::sharingWith(Set members) const {
  Set near = 0;
  for (unsigned i = 0; i < operators.size(); ++i)
    if ((members >> i) & 1)
      near |= linked[i];
  return near & ~members;
}

/// False if there are too many.
bool PartPlan::findCandidates() {
  for (unsigned last = 0; last < operators.size(); ++last) {
    if (!findCandidates(last, std::nullopt))
      return false;
    if (rules.loops != KernelRules::Loops::Shared || !rules.isRegular(operators[last]))
      continue;
    for (unsigned dim = 0; dim < rules.movementOf(operators[last]).domain.size(); ++dim)
      if (KernelGroup::Walk walk{dim}; KernelGroup(operators[last], rules, walk).canWalk())
        if (!findCandidates(last, walk))
          return false;
  }
  return true;
}

static std::optional<unsigned> dimOf(std::optional<KernelGroup::Walk> walk) {
  return walk ? walk->dim : std::nullopt;
}

bool PartPlan::findCandidates(unsigned last, std::optional<KernelGroup::Walk> walk) {
  // A set is the one without its first operator, and that.
  llvm::DenseMap<Set, GroupAssembly> assemblies;
  std::function<const GroupAssembly &(Set)> assembly = [&](Set members) -> const GroupAssembly & {
    auto known = assemblies.find(members);
    if (known != assemblies.end())
      return known->second;
    unsigned first = llvm::countr_zero(members);
    Set others = members & (members - 1);
    GroupAssembly made = others ? assembly(others) : GroupAssembly(rules, walk);
    made.add(operators[first]);
    return assemblies.try_emplace(members, std::move(made)).first->second;
  };
  SmallVector<Set> sets{Set(1) << last};
  llvm::DenseSet<Set> known(sets.begin(), sets.end());
  for (size_t next = 0; next < sets.size(); ++next) {
    if (++counts.sets > setsBefore + kMaxSets)
      return false;
    Set members = sets[next];
    std::optional<KernelGroup> group = assembly(members).whole();
    // One that walks otherwise is found by that walk.
    if (group && dimOf(group->walkOfRoot()) == dimOf(walk) && isAllowed(*group)) {
      candidates[last].push_back({members, cost.of(*group), std::move(*group)});
      ++counts.candidates;
    }
    Set near = sharingWith(members);
    for (unsigned i = 0; i < last; ++i) {
      Set larger = members | Set(1) << i;
      if ((near >> i) & 1 && isClosed(larger) && known.insert(larger).second)
        sets.push_back(larger);
    }
  }
  return true;
}

/// A kernel that takes no less time than its operators alone is in no plan that is needed.
void PartPlan::leaveThoseBetterApart() {
  SmallVector<double> alone(operators.size(), std::numeric_limits<double>::infinity());
  for (auto [i, same] : llvm::enumerate(candidates))
    for (const Candidate &candidate : same)
      if (llvm::has_single_bit(candidate.members))
        alone[i] = std::min(alone[i], candidate.microseconds);
  for (SmallVector<Candidate> &same : candidates)
    llvm::erase_if(same, [&](const Candidate &candidate) {
      double apart = 0;
      for (unsigned i = 0; i < operators.size(); ++i)
        if ((candidate.members >> i) & 1)
          apart += alone[i];
      return !llvm::has_single_bit(candidate.members) && candidate.microseconds >= apart;
    });
}

void PartPlan::setPrices() {
  std::ranges::fill(prices, std::numeric_limits<double>::infinity());
  for (ArrayRef<Candidate> same : candidates)
    for (const Candidate &candidate : same)
      for (unsigned i = 0; i < operators.size(); ++i)
        if ((candidate.members >> i) & 1)
          prices[i] =
              std::min(prices[i], candidate.microseconds / llvm::popcount(candidate.members));
}

/// Takes the last operator that is left in each kernel that it may be the last of.
void PartPlan::choose(Set left, double spent) {
  ++counts.plans;
  double least = spent;
  for (unsigned i = 0; i < operators.size(); ++i)
    if ((left >> i) & 1)
      least += prices[i];
  if (least >= bestMicroseconds * (1 - kNoise) || ++visited > kMaxPlans) {
    ++counts.tooSlow;
    return;
  }
  if (left == 0) {
    if (!isAcyclic()) {
      ++counts.cyclic;
      return;
    }
    bestMicroseconds = spent;
    best = chosen;
    return;
  }
  for (const Candidate &candidate : candidates[llvm::Log2_32(left)])
    if ((candidate.members & ~left) == 0) {
      chosen.push_back(&candidate);
      choose(left & ~candidate.members, spent + candidate.microseconds);
      chosen.pop_back();
    }
}

/// Whether the chosen kernels can be one after the other.
bool PartPlan::isAcyclic() const {
  SmallVector<const Candidate *> left(chosen);
  auto waitsFor = [&](const Candidate *a, const Candidate *b) {
    for (unsigned i = 0; i < operators.size(); ++i)
      if ((b->members >> i) & 1 && (waiting[i] & a->members))
        return true;
    return false;
  };
  while (!left.empty()) {
    auto *next = llvm::find_if(left, [&](const Candidate *candidate) {
      return llvm::none_of(left, [&](const Candidate *other) {
        return other != candidate && waitsFor(candidate, other);
      });
    });
    if (next == left.end())
      return false;
    left.erase(next);
  }
  return true;
}

std::optional<SmallVector<KernelGroup>> PartPlan::fasterThan(double microseconds) {
  tooLarge = !findCandidates();
  if (tooLarge)
    return std::nullopt;
  leaveThoseBetterApart();
  for (SmallVector<Candidate> &same : candidates)
    llvm::sort(same, [](const Candidate &a, const Candidate &b) {
      auto price = [](const Candidate &c) { return c.microseconds / llvm::popcount(c.members); };
      return std::pair(price(a), a.members) < std::pair(price(b), b.members);
    });
  setPrices();
  bestMicroseconds = microseconds;
  choose(static_cast<Set>((uint64_t(1) << operators.size()) - 1), 0);
  if (best.empty())
    return std::nullopt;
  SmallVector<KernelGroup> groups;
  for (const Candidate *candidate : best)
    groups.push_back(candidate->group);
  return groups;
}

std::string PlanCounts::text() const {
  if (parts == 0)
    return "";
  return llvm::formatv("fusion: {0} connected parts of the program in which operators could share "
                       "kernels in several ways, {1} of them planned part by part; {2} sets of "
                       "operators looked at, {3} of them candidate kernels; {4} plans priced, of "
                       "which {5} were too slow and {6} cyclic; "
                       "predicted {7:f2} us, {8:f2} us before planning",
                       parts, tooLarge, sets, candidates, plans, tooSlow, cyclic, after, before);
}

} // namespace headrace
