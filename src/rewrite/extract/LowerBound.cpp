// A lower bound of terms' costs. A term pays for each class on the way from its root to any leaf:
// the dearest way is a bound, and so is the sum of such bounds over parts of the costs, each with a
// way of its own. The parts are those of classes that are made of the same leaves, the inputs of a
// term: what is done to one input alone is paid in addition to what is done to another.
#include "rewrite/extract/Choices.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>

namespace headrace::rewrite {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Limits: leaves beyond this many parts count as one leaf, and so does a set of more leaves than
/// the second limit.
constexpr uint32_t maxParts = 64;
constexpr size_t maxLeaves = 64;
constexpr uint32_t manyLeaves = UINT32_MAX;
/// How often a class is visited, on average, before the bound is given up.
constexpr size_t maxVisits = 100;
constexpr int maxEliminations = 20;

using Leaves = std::vector<uint32_t>;

/// The leaves of each class, by its cheapest tree.
class LeavesOfClasses {
public:
  explicit LeavesOfClasses(const Choices &choices)
      : choices(choices), found(choices.classes.size()), isDone(choices.classes.size()) {
    for (uint32_t id = 0; id < choices.classes.size(); ++id)
      find(id);
  }
  const Leaves &operator[](uint32_t id) const { return found[id]; }

private:
  const std::vector<uint32_t> &operandsOf(uint32_t id) const {
    return choices.classes[id][choices.cheapestTree[id]].operands;
  }

  // Without recursion: terms may be deeper than the stack.
  void find(uint32_t start) {
    std::vector<uint32_t> path = {start};
    while (!path.empty()) {
      uint32_t id = path.back();
      size_t open = path.size();
      for (uint32_t operand : operandsOf(id))
        if (!isDone[operand])
          path.push_back(operand);
      if (path.size() > open)
        continue;
      path.pop_back();
      if (isDone[id])
        continue;
      isDone[id] = true;
      if (operandsOf(id).empty())
        found[id] = {id};
      for (uint32_t operand : operandsOf(id)) {
        Leaves both;
        std::ranges::set_union(found[id], found[operand], std::back_inserter(both));
        bool areMany = both.size() > maxLeaves || (!both.empty() && both.back() == manyLeaves);
        found[id] = areMany ? Leaves{manyLeaves} : std::move(both);
      }
    }
  }

  const Choices &choices;
  std::vector<Leaves> found;
  std::vector<bool> isDone;
};

/// Classes to visit, each once until it is, first come first served.
class WorkList {
public:
  explicit WorkList(size_t classes) : isOpen(classes), visits(classes * maxVisits) {}

  void add(uint32_t id) {
    if (!isOpen[id])
      open.push_back(id);
    isOpen[id] = true;
  }
  std::optional<uint32_t> next() {
    if (open.empty() || visits == 0)
      return {};
    --visits;
    uint32_t id = open.front();
    open.pop_front();
    isOpen[id] = false;
    return id;
  }
  bool isGivenUp() const { return !open.empty(); }

private:
  std::deque<uint32_t> open;
  std::vector<bool> isOpen;
  size_t visits;
};

/// The options that a term which is cheaper than the best known may have.
class Remaining {
public:
  Remaining(const Choices &choices, double best)
      : root(choices.root), best(best), options(choices.classes), parts(partsOf(choices)) {}

  /// Options whose terms cost at least as much as the best known one are removed as long as that
  /// raises the bound.
  double bound() {
    double least = 0;
    for (int round = 0; round < maxEliminations; ++round) {
      findWays();
      double next = sumOf(root);
      if (next >= best || next <= least)
        return std::max(least, next);
      least = next;
      if (!eliminate())
        return least;
    }
    return least;
  }

private:
  /// The number of each class's part.
  std::vector<uint32_t> partsOf(const Choices &choices) {
    LeavesOfClasses leaves(choices);
    std::map<Leaves, uint32_t> known;
    std::vector<uint32_t> result;
    for (uint32_t id = 0; id < choices.classes.size(); ++id) {
      auto next = std::min(static_cast<uint32_t>(known.size()), maxParts - 1);
      result.push_back(known.emplace(leaves[id], next).first->second);
      partCount = std::max(partCount, result.back() + 1);
    }
    return result;
  }

  /// For each part the cost of the dearest way below each class, which no term of it avoids, if
  /// classes of that part alone cost anything. Values only fall, down to where no option allows
  /// less.
  void findWays() {
    ways.assign(options.size() * partCount, infinity);
    std::vector<double> way(partCount);
    std::vector<std::vector<uint32_t>> users(options.size());
    WorkList open(options.size());
    for (auto id = static_cast<uint32_t>(options.size()); id-- > 0;) { // operands first, mostly
      open.add(id);
      for (const Option &option : options[id])
        for (uint32_t operand : option.operands)
          users[operand].push_back(id);
    }
    while (std::optional<uint32_t> id = open.next()) {
      bool falls = false;
      for (const Option &option : options[*id]) {
        findWay(option, *id, way);
        for (uint32_t part = 0; part < partCount; ++part)
          if (way[part] < ways[*id * partCount + part]) {
            ways[*id * partCount + part] = way[part];
            falls = true;
          }
      }
      for (uint32_t user : falls ? users[*id] : std::vector<uint32_t>())
        open.add(user);
    }
    if (open.isGivenUp())
      ways.assign(ways.size(), 0);
  }

  void findWay(const Option &option, uint32_t id, std::vector<double> &way) const {
    std::ranges::fill(way, 0);
    for (uint32_t operand : option.operands)
      for (uint32_t part = 0; part < partCount; ++part)
        way[part] = std::max(way[part], ways[operand * partCount + part]);
    way[parts[id]] += option.cost;
  }

  double sumOf(uint32_t id) const {
    double sum = 0;
    for (uint32_t part = 0; part < partCount; ++part)
      sum += ways[id * partCount + part];
    return sum;
  }

  /// A term with an option pays for it, for what is below, and for a way from the root to it.
  bool eliminate() {
    std::vector<double> above = costsAbove();
    std::vector<double> way(partCount);
    bool isLess = false;
    for (uint32_t id = 0; id < options.size(); ++id)
      isLess |= std::erase_if(options[id], [&](const Option &option) {
                  findWay(option, id, way);
                  double below = 0;
                  for (double cost : way)
                    below += cost;
                  constexpr double rounding = 1 - 1e-9;
                  return (above[id] + below) * rounding > best;
                }) > 0;
    return isLess;
  }

  /// The cheapest way from the root to each class, its own cost apart.
  std::vector<double> costsAbove() const {
    std::vector<double> above(options.size(), infinity);
    above[root] = 0;
    WorkList open(options.size());
    open.add(root);
    while (std::optional<uint32_t> id = open.next())
      for (const Option &option : options[*id])
        for (uint32_t operand : option.operands)
          if (double cost = above[*id] + option.cost; cost < above[operand]) {
            above[operand] = cost;
            open.add(operand);
          }
    if (open.isGivenUp())
      std::ranges::fill(above, 0);
    return above;
  }

  uint32_t root;
  double best;
  std::vector<std::vector<Option>> options; // by class
  uint32_t partCount = 0;
  std::vector<uint32_t> parts; // by class
  std::vector<double> ways;    // by class and part
};

} // namespace

double minCost(const Choices &choices, double best) {
  return std::min(best, Remaining(choices, best).bound());
}

} // namespace headrace::rewrite
