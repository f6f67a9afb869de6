#include "transform/kernels/MergeGroups.h"

#include "transform/choices/Verbs.h"

#include <set>

using namespace mlir;

namespace headrace {
namespace {

class Merger {
public:
  Merger(Grouping &grouping, GroupCost &cost, llvm::function_ref<bool(size_t)> isFixed,
         SmallVectorImpl<UnsupportedFusion> &refusals)
      : grouping(grouping), cost(cost), isFixed(isFixed), refusals(refusals) {}

  /// Merges groups with earlier ones until no pair is left that gains by it. Only a group that has
  /// changed can accept what it rejected before.
  void run() {
    std::set<size_t> pending;
    for (size_t i = 0; i < grouping.size(); ++i)
      if (grouping.isAlive(i))
        pending.insert(i);
    while (!pending.empty()) {
      size_t later = *pending.begin();
      pending.erase(pending.begin());
      std::optional<size_t> earlier = mergeIntoEarlier(later);
      if (!earlier)
        continue;
      pending.insert(*earlier);
      for (size_t other : grouping.neighbours(*earlier))
        if (other > *earlier)
          pending.insert(other);
    }
  }

private:
  std::optional<size_t> mergeIntoEarlier(size_t later) {
    if (isFixed(later))
      return std::nullopt;
    for (size_t earlier : grouping.neighbours(later)) {
      if (earlier > later || isFixed(earlier))
        continue;
      FusionDecision decision =
          cost.isMergeWorthwhile(grouping[earlier], grouping[later])
              ? grouping.tryAssemble(earlier, later)
              : FusionDecision::no("little of the time of either would be saved");
      if (decision)
        return earlier;
      refusals.push_back(
          {verbs::merge.name, grouping[later].namesake(), grouping[earlier].namesake(), decision});
    }
    return std::nullopt;
  }

  Grouping &grouping;
  GroupCost &cost;
  llvm::function_ref<bool(size_t)> isFixed;
  SmallVectorImpl<UnsupportedFusion> &refusals;
};

} // namespace

void mergeGroups(Grouping &grouping, GroupCost &cost, llvm::function_ref<bool(size_t)> isFixed,
                 SmallVectorImpl<UnsupportedFusion> &refusals) {
  Merger(grouping, cost, isFixed, refusals).run();
}

} // namespace headrace
