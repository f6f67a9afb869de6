// What every term costs at least. A term pays for each class on the way from its root to any leaf:
// the dearest way is a bound, and so is the sum of such bounds over parts of the costs, each with a
// way of its own. The parts are those of classes that are made of the same leaves, the inputs of a
// term: what is done to one input alone is paid beside what is done to another.
#include "rewrite/extract/Choices.h"

#include <algorithm>
#include <limits>
#include <map>

namespace headrace::rewrite {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// The leaves of further parts are taken as one, and so are sets of more leaves.
constexpr uint32_t mostParts = 64;
constexpr size_t mostLeaves = 64;
constexpr uint32_t manyLeaves = UINT32_MAX;
/// Rounds after which a part counts for nothing: graphs with long ways against the order of classes.
constexpr int mostRounds = 100;

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
        bool areMany = both.size() > mostLeaves || (!both.empty() && both.back() == manyLeaves);
        found[id] = areMany ? Leaves{manyLeaves} : std::move(both);
      }
    }
  }

  const Choices &choices;
  std::vector<Leaves> found;
  std::vector<bool> isDone;
};

/// By class, the number of its part.
std::vector<uint32_t> partsOf(const Choices &choices) {
  LeavesOfClasses leaves(choices);
  std::map<Leaves, uint32_t> parts;
  std::vector<uint32_t> result;
  for (uint32_t id = 0; id < choices.classes.size(); ++id) {
    auto next = std::min(static_cast<uint32_t>(parts.size()), mostParts - 1);
    result.push_back(parts.emplace(leaves[id], next).first->second);
  }
  return result;
}

/// The cost of the dearest way that no term of the root can avoid, where the classes of one part
/// alone cost anything. Values only fall, down to where each option's way costs its class no less.
double dearestWay(const Choices &choices, const std::vector<uint32_t> &parts, uint32_t part) {
  std::vector<double> ways(choices.classes.size(), infinity);
  bool falls = true;
  for (int round = 0; falls; ++round) {
    if (round == mostRounds)
      return 0;
    falls = false;
    for (auto id = static_cast<uint32_t>(ways.size()); id-- > 0;) // operands mostly come first so
      for (const Option &option : choices.classes[id]) {
        double below = 0;
        for (uint32_t operand : option.operands)
          below = std::max(below, ways[operand]);
        double way = below + (parts[id] == part ? option.cost : 0);
        if (way < ways[id]) {
          ways[id] = way;
          falls = true;
        }
      }
  }
  return ways[choices.root];
}

} // namespace

double leastCost(const Choices &choices) {
  std::vector<uint32_t> parts = partsOf(choices);
  double sum = 0;
  for (uint32_t part = 0; part <= std::ranges::max(parts); ++part)
    sum += dearestWay(choices, parts, part);
  return sum;
}

} // namespace headrace::rewrite
