// Greedy extraction. Cheapest trees pay for a shared part wherever it is used; so classes are also
// given the set of classes that their choice needs, and the choice whose set costs least. That can
// err if sets are out of date, so the better of both is taken, and single changes are tried on
// it as long as they pay.
#include "rewrite/extract/Choices.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace headrace::rewrite {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Sets take memory in proportion to classes times the size of a term.
constexpr size_t maxClassesWithSets = 20'000;

struct Needs {
  double cost = infinity;
  std::vector<std::pair<uint32_t, double>> classes; // ascending, with the cost of what was chosen
};

/// Finds the options that an option needs. Few options beat the best known one; for the others, the
/// most expensive operand usually shows it. Sets are united in memory that is reused.
class NeedsFinder {
public:
  explicit NeedsFinder(const std::vector<Needs> &known) : known(known) {}

  /// Whether the option costs its class less than `limit`; `found` is what it needs then.
  bool isCheaper(const Option &option, uint32_t owner, double limit) {
    double least = minCost(option);
    if (least > limit || least == infinity)
      return false;
    auto byClass = [](const auto &a, const auto &b) { return a.first < b.first; };
    found.classes.assign(1, {owner, option.cost});
    for (uint32_t operand : option.operands) {
      const Needs &more = known[operand];
      if (std::ranges::binary_search(more.classes, std::pair(owner, 0.0), byClass))
        return false;
      both.clear();
      std::ranges::set_union(found.classes, more.classes, std::back_inserter(both), byClass);
      found.classes.swap(both);
    }
    found.cost = 0;
    for (const auto &[id, cost] : found.classes)
      found.cost += cost;
    return found.cost < limit;
  }

  Needs found;

private:
  double minCost(const Option &option) const {
    constexpr double rounding = 1 - 1e-9; // sums of one set in another order
    double most = 0;
    for (uint32_t operand : option.operands)
      most = std::max(most, known[operand].cost);
    return (option.cost + most) * rounding;
  }

  const std::vector<Needs> &known;
  std::vector<std::pair<uint32_t, double>> both;
};

Selection selectBySets(const Choices &choices) {
  size_t count = choices.classes.size();
  Selection selection = choices.cheapestTree;
  std::vector<Needs> needs(count);
  NeedsFinder finder(needs);
  std::vector<std::vector<uint32_t>> users(count);
  std::deque<uint32_t> open;
  std::vector<bool> isOpen(count, true);
  for (uint32_t id = 0; id < count; ++id) {
    open.push_front(id); // operands have higher numbers, mostly
    for (const Option &option : choices.classes[id])
      for (uint32_t operand : option.operands)
        users[operand].push_back(id);
  }
  while (!open.empty()) {
    uint32_t id = open.front();
    open.pop_front();
    isOpen[id] = false;
    bool improved = false;
    for (uint32_t i = 0; i < choices.classes[id].size(); ++i)
      if (finder.isCheaper(choices.classes[id][i], id, needs[id].cost)) {
        needs[id] = finder.found;
        selection[id] = i;
        improved = true;
      }
    if (!improved)
      continue;
    for (uint32_t user : users[id])
      if (!isOpen[user]) {
        open.push_back(user);
        isOpen[user] = true;
      }
  }
  return selection;
}

std::vector<uint32_t> reached(const Choices &choices, const Selection &selection) {
  std::vector<uint32_t> found = {choices.root};
  std::vector<bool> seen(choices.classes.size());
  seen[choices.root] = true;
  for (size_t i = 0; i < found.size(); ++i)
    for (uint32_t operand : choices.classes[found[i]][selection[found[i]]].operands)
      if (!seen[operand]) {
        seen[operand] = true;
        found.push_back(operand);
      }
  return found;
}

void improveBySingleChanges(const Choices &choices, Selection &selection, size_t steps) {
  double best = costOf(choices, selection);
  bool improved = true;
  while (improved && steps > 0) {
    improved = false;
    for (uint32_t id : reached(choices, selection)) {
      uint32_t current = selection[id];
      for (uint32_t i = 0; i < choices.classes[id].size() && steps > 0; ++i) {
        if (i == current)
          continue;
        --steps;
        selection[id] = i;
        double cost = costOf(choices, selection);
        if (cost < best) {
          best = cost;
          current = i;
          improved = true;
        }
      }
      selection[id] = current;
    }
  }
}

} // namespace

Selection selectGreedily(const Choices &choices, size_t steps) {
  Selection best = choices.cheapestTree;
  if (choices.classes.size() <= maxClassesWithSets)
    if (Selection other = selectBySets(choices); costOf(choices, other) < costOf(choices, best))
      best = std::move(other);
  // A step walks the term: longer terms get fewer of them.
  size_t length = reached(choices, best).size();
  improveBySingleChanges(choices, best, steps * 100 / (100 + length));
  return best;
}

} // namespace headrace::rewrite
