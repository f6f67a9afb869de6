#include "transform/kernels/PartPlan.h"

#include "transform/kernels/Grouping.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace headrace {

/// More kernels than this are not looked at: the plan stays as it is, or is improved in pieces.
static constexpr size_t kMostCandidates = 1024;
/// After so many plans, whole or begun, the best one stands.
static constexpr size_t kMostPlans = 1 << 16;
/// Differences in time that arithmetic alone makes.
static constexpr double kNoise = 1e-9;

PartPlan::PartPlan(ArrayRef<hr::OperatorInterface> operators, const KernelRules &rules,
                   GroupCost &cost, const KernelLinks &links, PlanCounts &counts,
                   IsAllowed isAllowed)
    : operators(operators), rules(rules), cost(cost), links(links), counts(counts),
      isAllowed(isAllowed), linked(operators.size()), waiting(operators.size()),
      outside(operators.size()), candidates(operators.size()), prices(operators.size()) {
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
  // Which of the operators each operation between the first and the last one waits for, and for
  // which of them through operations that are none of these.
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

/// Whether no member waits for another through operators that are none.
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

/// False where there are too many.
bool PartPlan::findCandidates() {
  struct Seed {
    Set members;
    KernelGroup group;
  };
  size_t found = 0;
  for (unsigned last = 0; last < operators.size(); ++last) {
    // Sets that differ in how they walk grow differently.
    std::set<std::pair<Set, int>> known;
    std::vector<Seed> seeds;
    auto add = [&](Set members, const KernelGroup &group) {
      if (!isClosed(members))
        return;
      std::optional<KernelGroup::Walk> given = group.walkOfRoot();
      int walk = given ? static_cast<int>(*given->dim) : -1;
      if (!known.insert({members, walk}).second)
        return;
      if (isAllowed(group))
        candidates[last].push_back({members, cost.of(group), group});
      seeds.push_back({members, group});
    };
    KernelGroup byThumb(operators[last], rules);
    byThumb.goByThumb(false);
    add(Set(1) << last, byThumb);
    add(Set(1) << last, KernelGroup::candidate(operators[last], rules));
    for (size_t next = 0; next < seeds.size(); ++next) {
      if (++found > kMostCandidates)
        return false;
      Seed seed = seeds[next];
      Set near = 0;
      for (unsigned i = 0; i <= last; ++i)
        if ((seed.members >> i) & 1)
          near |= linked[i];
      for (unsigned i = 0; i < last; ++i) {
        if (!((near & ~seed.members) >> i & 1))
          continue;
        hr::OperatorInterface op = operators[i];
        bool isRead = llvm::any_of(op->getUsers(),
                                   [&](Operation *user) { return seed.group.contains(user); });
        if (!isRead && !links.isMergeWorthwhile(seed.group, op))
          continue;
        for (const KernelGroup &group : seed.group.extendedBy(op))
          add(seed.members | Set(1) << i, group);
      }
    }
  }
  counts.candidates += found;
  return true;
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
  if (least >= bestMicroseconds * (1 - kNoise) || ++visited > kMostPlans) {
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

/// Whether the chosen kernels can stand one after the other.
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

/// The chosen kernels as a recipe that names them gives them. A candidate that cannot be had that
/// way is none; nothing is returned then.
std::optional<SmallVector<KernelGroup>> PartPlan::assembled() {
  SmallVector<KernelGroup> groups;
  for (const Candidate *candidate : best) {
    SmallVector<hr::OperatorInterface> members;
    for (unsigned i = operators.size(); i-- > 0;)
      if ((candidate->members >> i) & 1)
        members.push_back(operators[i]);
    std::optional<KernelGroup> group = assembleGroup(members, rules, candidate->group.walkOfRoot());
    if (!group || !isAllowed(*group) || cost.of(*group) > candidate->microseconds * (1 + kNoise)) {
      SmallVector<Candidate> &same = candidates[llvm::Log2_32(candidate->members)];
      same.erase(same.begin() + (candidate - same.data()));
      return std::nullopt;
    }
    groups.push_back(std::move(*group));
  }
  return groups;
}

std::optional<SmallVector<KernelGroup>> PartPlan::fasterThan(double microseconds) {
  tooLarge = !findCandidates();
  if (tooLarge)
    return std::nullopt;
  for (SmallVector<Candidate> &same : candidates)
    llvm::sort(same, [](const Candidate &a, const Candidate &b) {
      auto price = [](const Candidate &c) { return c.microseconds / llvm::popcount(c.members); };
      return std::pair(price(a), a.members) < std::pair(price(b), b.members);
    });
  setPrices();
  while (true) {
    best.clear();
    visited = 0;
    bestMicroseconds = microseconds;
    choose(static_cast<Set>((uint64_t(1) << operators.size()) - 1), 0);
    if (best.empty())
      return std::nullopt;
    if (std::optional<SmallVector<KernelGroup>> groups = assembled())
      return groups;
  }
}

std::string PlanCounts::text() const {
  if (parts == 0)
    return "";
  return llvm::formatv("fusion: {0} connected parts of the program in which operators could share "
                       "kernels in several ways, {1} of them planned piece by piece; {2} candidate "
                       "kernels; {3} plans priced, of which {4} were too slow and {5} cyclic; "
                       "predicted {6:f2} us, {7:f2} us before planning",
                       parts, tooLarge, candidates, plans, tooSlow, cyclic, after, before);
}

} // namespace headrace
