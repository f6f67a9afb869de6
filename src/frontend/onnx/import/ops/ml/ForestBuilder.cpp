#include "frontend/onnx/import/ops/ml/ForestBuilder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

using namespace mlir;

namespace headrace::onnx {

static constexpr int64_t kMaxNodes = int64_t(1) << 28;
static constexpr int64_t kDeepest = 4096;
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

namespace {

class ForestBuilder {
public:
  ForestBuilder(NodeContext &c, const std::vector<Decision> &decisions, int64_t leaves, Type type)
      : c(c), decisions(decisions), isDouble(type.isF64()) {
    forest.leaves = leaves;
    nodes.resize(decisions.size());
  }

  Forest build(const std::vector<TreePlace> &roots) {
    for (size_t i = 0; i < decisions.size(); ++i)
      write(static_cast<int64_t>(i));
    checkCount();
    forest.nodes = static_cast<int64_t>(nodes.size());
    for (int64_t i = 0; i < forest.nodes; ++i)
      depthFrom({false, i}); // also those that no root leads to must not be in cycles
    for (TreePlace root : roots)
      forest.depth = std::max(forest.depth, depthFrom(root));
    flatten(roots);
    return std::move(forest);
  }

private:
  struct Node {
    int64_t feature = 0;
    double threshold = kNaN;
    TreePlace ways[Forest::kWays];
  };

  void checkCount() {
    if (static_cast<int64_t>(nodes.size()) + forest.leaves > kMaxNodes)
      c.fail(ErrorKind::Unsupported, "expected at most 2^28 nodes of trees, got more");
  }

  /// The largest number below; nothing is below the least one, and nothing is at most NaN.
  double below(double x) const {
    if (x == -std::numeric_limits<double>::infinity())
      return kNaN;
    if (isDouble)
      return std::nextafter(x, -std::numeric_limits<double>::infinity());
    return std::nextafter(static_cast<float>(x), -std::numeric_limits<float>::infinity());
  }

  double rounded(double x) const { return isDouble ? x : static_cast<float>(x); }

  int64_t newNode(const Decision &from) {
    nodes.emplace_back().feature = from.feature;
    checkCount();
    return static_cast<int64_t>(nodes.size()) - 1;
  }

  void set(int64_t node, double threshold, TreePlace atMost, TreePlace above) {
    nodes[node].threshold = threshold;
    nodes[node].ways[0] = atMost;
    nodes[node].ways[1] = nodes[node].ways[2] = above;
  }

  void write(int64_t number) {
    const Decision &d = decisions[number];
    nodes[number].feature = d.feature;
    forest.largestFeature = std::max(forest.largestFeature, d.feature);
    double t = rounded(d.threshold);
    bool isNotEqual = d.comparison == Comparison::NotEqual;
    TreePlace missing = d.isMissingYes || isNotEqual ? d.yes : d.no;
    if (std::isnan(t) && d.comparison != Comparison::Member) {
      set(number, kNaN, missing, isNotEqual ? d.yes : d.no);
    } else {
      switch (d.comparison) {
      case Comparison::AtMost:
        set(number, t, d.yes, d.no);
        break;
      case Comparison::Less:
        set(number, below(t), d.yes, d.no);
        break;
      case Comparison::AtLeast:
        set(number, below(t), d.no, d.yes);
        break;
      case Comparison::Greater:
        set(number, t, d.no, d.yes);
        break;
      case Comparison::Equal:
        writeMember(number, d, std::span(&t, 1), d.yes, d.no);
        break;
      case Comparison::NotEqual:
        writeMember(number, d, std::span(&t, 1), d.no, d.yes);
        break;
      case Comparison::Member:
        writeMember(number, d, sortedMembers(d), d.yes, d.no);
        break;
      }
    }
    nodes[number].ways[2] = missing;
  }

  std::vector<double> sortedMembers(const Decision &d) const {
    std::vector<double> sorted;
    for (double member : d.members)
      sorted.push_back(rounded(member));
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    return sorted;
  }

  /// A search by halves: at most the middle one, and not at most what is below it.
  void writeMember(int64_t node, const Decision &d, std::span<const double> members, TreePlace yes,
                   TreePlace no) {
    if (members.empty())
      return set(node, kNaN, no, no);
    size_t middle = members.size() / 2;
    int64_t exact = newNode(d);
    auto search = [&](std::span<const double> part) {
      if (part.empty())
        return no;
      int64_t next = newNode(d);
      writeMember(next, d, part, yes, no);
      return TreePlace{false, next};
    };
    TreePlace lower = search(members.first(middle)), upper = search(members.subspan(middle + 1));
    set(exact, below(members[middle]), lower, yes);
    set(node, members[middle], {false, exact}, upper);
  }

  /// Steps from a place to the farthest leaf, without recursion: trees may be chains.
  int64_t depthFrom(TreePlace root) {
    constexpr int32_t kNew = -1, kOpen = -2;
    if (root.isLeaf)
      return 0;
    depths.resize(nodes.size(), kNew);
    std::vector<int64_t> path{root.number};
    while (!path.empty()) {
      int64_t node = path.back();
      int32_t deepest = 0;
      bool isReady = true;
      bool isFirst = depths[node] == kNew;
      if (depths[node] >= 0) {
        path.pop_back();
        continue;
      }
      depths[node] = kOpen;
      for (TreePlace way : nodes[node].ways) {
        if (way.isLeaf)
          continue;
        int32_t below = depths[way.number];
        if (below == kOpen && isFirst)
          c.fail(ErrorKind::InvalidModel,
                 "expected trees, got nodes in a cycle (at feature {0}, threshold {1})",
                 nodes[node].feature, nodes[node].threshold);
        if (below < 0) {
          path.push_back(way.number);
          isReady = false;
        }
        deepest = std::max(deepest, below);
      }
      if (!isReady)
        continue;
      depths[node] = deepest + 1;
      if (deepest >= kDeepest)
        c.fail(ErrorKind::Unsupported, "expected trees at most {0} deep, got one that is deeper",
               kDeepest);
      path.pop_back();
    }
    return depths[root.number];
  }

  int32_t idOf(TreePlace place) const {
    return static_cast<int32_t>(place.isLeaf ? forest.nodes + place.number : place.number);
  }

  void flatten(const std::vector<TreePlace> &roots) {
    for (TreePlace root : roots)
      forest.roots.push_back(idOf(root));
    for (const Node &node : nodes) {
      forest.features.push_back(static_cast<int32_t>(node.feature));
      forest.thresholds.push_back(node.threshold);
      int32_t above = idOf(node.ways[1]), missing = idOf(node.ways[2]);
      forest.next.insert(forest.next.end(), {idOf(node.ways[0]), above, missing});
      forest.treatsNaN |= above != missing;
    }
    for (int64_t leaf = 0; leaf < forest.leaves; ++leaf) {
      auto id = static_cast<int32_t>(forest.nodes + leaf);
      forest.features.push_back(0);
      forest.thresholds.push_back(0);
      forest.next.insert(forest.next.end(), Forest::kWays, id);
    }
  }

  NodeContext &c;
  const std::vector<Decision> &decisions;
  const bool isDouble;
  std::vector<Node> nodes;
  std::vector<int32_t> depths;
  Forest forest;
};

} // namespace

Forest buildForest(NodeContext &c, const std::vector<Decision> &decisions, int64_t leaves,
                   const std::vector<TreePlace> &roots, Type type) {
  return ForestBuilder(c, decisions, leaves, type).build(roots);
}

} // namespace headrace::onnx
