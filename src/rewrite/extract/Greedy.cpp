// Greedy extraction. Cheapest trees pay for a shared part wherever it is used; so classes are also
// given the set of classes that their choice needs, and the choice whose set costs least. That can
// err where sets are out of date, so the better of both is taken, and single changes are tried on
// it as long as they pay.
#include "rewrite/extract/Choices.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace headrace::rewrite {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Sets take memory in proportion to classes times the size of a term.
constexpr size_t mostClassesWithSets = 20'000;

struct Needs {
  double cost = infinity;
  std::vector<std::pair<uint32_t, double>> classes; // ascending, with the cost of what was chosen
};

Needs needsOf(const Option &option, uint32_t owner, const std::vector<Needs> &known) {
  Needs result;
  result.classes = {{owner, option.cost}};
  for (uint32_t operand : option.operands) {
    const Needs &more = known[operand];
    auto byClass = [](const auto &a, const auto &b) { return a.first < b.first; };
    if (more.cost == infinity ||
        std::ranges::binary_search(more.classes, std::pair(owner, 0.0), byClass))
      return {};
    std::vector<std::pair<uint32_t, double>> both;
    std::ranges::set_union(result.classes, more.classes, std::back_inserter(both), byClass);
    result.classes = std::move(both);
  }
  result.cost = 0;
  for (const auto &[id, cost] : result.classes)
    result.cost += cost;
  return result;
}

Selection selectBySets(const Choices &choices) {
  size_t count = choices.classes.size();
  Selection selection = choices.cheapestTree;
  std::vector<Needs> needs(count);
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
    for (uint32_t i = 0; i < choices.classes[id].size(); ++i) {
      Needs candidate = needsOf(choices.classes[id][i], id, needs);
      if (candidate.cost < needs[id].cost) {
        needs[id] = std::move(candidate);
        selection[id] = i;
        improved = true;
      }
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
  if (choices.classes.size() <= mostClassesWithSets)
    if (Selection other = selectBySets(choices); costOf(choices, other) < costOf(choices, best))
      best = std::move(other);
  // A step walks the term: longer terms get fewer of them.
  size_t length = reached(choices, best).size();
  improveBySingleChanges(choices, best, steps * 100 / (100 + length));
  return best;
}

} // namespace headrace::rewrite
