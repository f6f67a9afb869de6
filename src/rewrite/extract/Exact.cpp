// Branch and bound. A partial choice is bounded from below by what it has paid and the cheapest
// options of all classes that it cannot do without: those that every term of an open class needs.
#include "rewrite/extract/Choices.h"

#include <algorithm>
#include <limits>

namespace headrace::rewrite {

namespace {

using Bits = std::vector<uint64_t>;

bool has(const Bits &bits, uint32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
void put(Bits &bits, uint32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }

class BranchAndBound {
public:
  BranchAndBound(const Choices &choices, Selection &best, size_t steps)
      : choices(choices), best(best), steps(steps), bestCost(costOf(choices, best)),
        selection(choices.classes.size(), undecided) {
    findLeastCosts();
    findNeeds();
    orderOptions();
  }

  bool run() {
    std::vector<uint32_t> open = {choices.root};
    branch(open, 0);
    return steps > 0;
  }

private:
  void findLeastCosts() {
    for (const std::vector<Option> &options : choices.classes)
      minCost.push_back(std::ranges::min(options, {}, &Option::cost).cost);
  }

  // The greatest solution of: a class needs itself and what all of its options need in common.
  void findNeeds() {
    size_t count = choices.classes.size(), words = (count + 63) / 64;
    needs.assign(count, Bits(words, ~uint64_t{0}));
    for (bool changed = true; changed;) {
      changed = false;
      for (auto id = static_cast<uint32_t>(count); id-- > 0;) {
        Bits common(words, ~uint64_t{0});
        for (const Option &option : choices.classes[id]) {
          Bits all(words, 0);
          for (uint32_t operand : option.operands)
            for (size_t w = 0; w < words; ++w)
              all[w] |= needs[operand][w];
          for (size_t w = 0; w < words; ++w)
            common[w] &= all[w];
        }
        put(common, id);
        for (size_t w = 0; w < words; ++w)
          common[w] &= needs[id][w];
        if (common != needs[id]) {
          needs[id] = std::move(common);
          changed = true;
        }
      }
    }
  }

  // The most promising first; one that costs no more than another and needs no more replaces it.
  void orderOptions() {
    for (const std::vector<Option> &options : choices.classes) {
      std::vector<uint32_t> order;
      for (uint32_t i = 0; i < options.size(); ++i) {
        bool dominated = false;
        for (uint32_t j = 0; j < options.size() && !dominated; ++j) {
          bool same =
              options[i].cost == options[j].cost && options[i].operands == options[j].operands;
          dominated = i != j && options[j].cost <= options[i].cost && (!same || j < i) &&
                      std::ranges::includes(options[i].operands, options[j].operands);
        }
        if (!dominated)
          order.push_back(i);
      }
      std::vector<std::pair<double, uint32_t>> bounds(options.size());
      for (uint32_t i : order) {
        bounds[i] = {options[i].cost, i};
        for (uint32_t operand : options[i].operands)
          bounds[i].first += boundOf({operand});
      }
      std::ranges::sort(order, {}, [&](uint32_t i) { return bounds[i]; });
      orders.push_back(std::move(order));
    }
  }

  double boundOf(const std::vector<uint32_t> &open) const {
    Bits all((choices.classes.size() + 63) / 64, 0);
    for (uint32_t id : open)
      for (size_t w = 0; w < all.size(); ++w)
        all[w] |= needs[id][w];
    double sum = 0;
    for (uint32_t id = 0; id < choices.classes.size(); ++id)
      if (has(all, id) && selection[id] == undecided)
        sum += minCost[id];
    return sum;
  }

  void branch(std::vector<uint32_t> &open, double paid) {
    if (steps > 0)
      --steps;
    if (steps == 0)
      return;
    if (open.empty()) {
      if (paid < bestCost) {
        bestCost = paid;
        for (uint32_t id = 0; id < selection.size(); ++id)
          if (selection[id] != undecided)
            best[id] = selection[id];
      }
      return;
    }
    if (paid + boundOf(open) >= bestCost)
      return;
    // The class with the fewest options: forced ones first.
    auto next = std::ranges::min_element(open, {}, [&](uint32_t id) { return orders[id].size(); });
    uint32_t id = *next;
    for (uint32_t i : orders[id]) {
      const Option &option = choices.classes[id][i];
      selection[id] = i;
      if (!closesCycle(id)) {
        std::vector<uint32_t> rest;
        for (uint32_t other : open)
          if (other != id)
            rest.push_back(other);
        for (uint32_t operand : option.operands)
          if (selection[operand] == undecided && std::ranges::find(rest, operand) == rest.end())
            rest.push_back(operand);
        branch(rest, paid + option.cost);
      }
      selection[id] = undecided;
      if (steps == 0)
        return;
    }
  }

  bool closesCycle(uint32_t start) const {
    std::vector<uint32_t> open = {start};
    std::vector<bool> seen(choices.classes.size());
    while (!open.empty()) {
      uint32_t id = open.back();
      open.pop_back();
      if (selection[id] == undecided)
        continue;
      for (uint32_t operand : choices.classes[id][selection[id]].operands) {
        if (operand == start)
          return true;
        if (!seen[operand]) {
          seen[operand] = true;
          open.push_back(operand);
        }
      }
    }
    return false;
  }

  const Choices &choices;
  Selection &best;
  size_t steps;
  double bestCost;
  Selection selection;
  std::vector<double> minCost;
  std::vector<Bits> needs;
  std::vector<std::vector<uint32_t>> orders; // options by class, the dominated left out
};

} // namespace

bool selectExactly(const Choices &choices, Selection &best, size_t steps) {
  return BranchAndBound(choices, best, steps).run();
}

} // namespace headrace::rewrite
