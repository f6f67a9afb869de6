#include "frontend/onnx/import/ops/ml/Forest.h"

#include "frontend/onnx/import/ops/ml/ForestBuilder.h"
#include "frontend/onnx/import/ops/ml/Scores.h"
#include "runtime/system/Text.h"

#include <map>

using namespace mlir;

namespace headrace::onnx {

static int64_t checkedInside(NodeContext &c, const std::string &attribute, int64_t number,
                             int64_t count) {
  if (number < 0 || number >= count)
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected values from 0 to {1}, got {2}",
           attribute, count - 1, number);
  return number;
}

static int64_t checkedFeature(NodeContext &c, int64_t feature) {
  return checkedInside(c, "nodes_featureids", feature, std::numeric_limits<int32_t>::max());
}

/// A list with an element for each node, or none at all if it is optional.
template <class T>
static std::vector<T> perNode(NodeContext &c, const std::string &attribute, std::vector<T> list,
                              size_t count, bool isOptional = false) {
  if (!(isOptional && list.empty()))
    checkLength(c, attribute, list.size(), count);
  return list;
}

//===--------------------------------------------------------------------------===//
// Nodes by the numbers of trees and nodes
//===--------------------------------------------------------------------------===//

namespace {

class NumberedForest {
public:
  NumberedForest(NodeContext &c, std::string prefix) : c(c), prefix(std::move(prefix)) {
    trees = c.node.getInts("nodes_treeids");
    size_t count = trees.size();
    if (count == 0)
      c.fail(ErrorKind::InvalidModel, "attribute 'nodes_treeids': expected nodes, got none");
    numbers = perNode(c, "nodes_nodeids", c.node.getInts("nodes_nodeids"), count);
    for (size_t i = 0; i < count; ++i)
      if (!places.emplace(Key(trees[i], numbers[i]), i).second)
        c.fail(ErrorKind::InvalidModel, "expected one node {1} in tree {0}, got two", trees[i],
               numbers[i]);
  }

  WeightedForest read(Type type) {
    readNodes();
    WeightedForest result;
    result.forest = buildForest(c, decisions, leafCount, roots(), type);
    result.weights = weights();
    return result;
  }

private:
  using Key = std::pair<int64_t, int64_t>; // tree, node

  static std::optional<Comparison> comparisonOf(const std::string &mode) {
    static const std::map<std::string, Comparison> table = {
        {"BRANCH_LEQ", Comparison::AtMost},  {"BRANCH_LT", Comparison::Less},
        {"BRANCH_GTE", Comparison::AtLeast}, {"BRANCH_GT", Comparison::Greater},
        {"BRANCH_EQ", Comparison::Equal},    {"BRANCH_NEQ", Comparison::NotEqual}};
    auto found = table.find(mode);
    return found == table.end() ? std::nullopt : std::optional(found->second);
  }

  /// Leaves and decisions are numbered each on their own.
  void numberPlaces(const std::vector<std::string> &modes) {
    int64_t count = 0;
    for (const std::string &mode : modes) {
      bool isLeaf = mode == "LEAF";
      if (!isLeaf && !comparisonOf(mode))
        c.fail(ErrorKind::InvalidModel,
               "attribute 'nodes_modes': expected BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, "
               "BRANCH_EQ, BRANCH_NEQ or LEAF, got {0}",
               inQuotes(mode));
      order.push_back({isLeaf, isLeaf ? leafCount++ : count++});
    }
  }

  TreePlace child(const char *attribute, int64_t tree, int64_t node) {
    auto found = places.find(Key(tree, node));
    if (found == places.end())
      c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected a node of tree {1}, got {2}",
             attribute, tree, node);
    isChild[found->second] = true;
    return order[found->second];
  }

  void readNodes() {
    size_t count = trees.size();
    auto modes = perNode(c, "nodes_modes", c.node.getStrings("nodes_modes"), count);
    auto ints = [&](const char *name, bool isOptional = false) {
      return perNode(c, name, c.node.getInts(name), count, isOptional);
    };
    std::vector<int64_t> features = ints("nodes_featureids"), yes = ints("nodes_truenodeids"),
                         no = ints("nodes_falsenodeids"),
                         missing = ints("nodes_missing_value_tracks_true", true);
    auto values = perNode(c, "nodes_values", floatsAttribute(c, "nodes_values"), count);
    isChild.resize(count, false);
    numberPlaces(modes);
    for (size_t i = 0; i < count; ++i) {
      if (order[i].isLeaf)
        continue;
      Decision &decision = decisions.emplace_back();
      decision.comparison = *comparisonOf(modes[i]);
      decision.feature = checkedFeature(c, features[i]);
      decision.threshold = values[i];
      decision.yes = child("nodes_truenodeids", trees[i], yes[i]);
      decision.no = child("nodes_falsenodeids", trees[i], no[i]);
      decision.isMissingYes = !missing.empty() && missing[i] != 0;
    }
  }

  /// The first node of each tree that is nobody's child.
  std::vector<TreePlace> roots() {
    std::map<int64_t, bool> hasRoot;
    std::vector<TreePlace> result;
    for (size_t i = 0; i < trees.size(); ++i) {
      bool &found = hasRoot[trees[i]];
      if (isChild[i] || found)
        continue;
      found = true;
      result.push_back(order[i]);
    }
    for (auto [tree, found] : hasRoot)
      if (!found)
        c.fail(ErrorKind::InvalidModel,
               "expected trees, got the nodes of tree {0} in a cycle, without a root", tree);
    return result;
  }

  /// Weights of inner nodes are never reached.
  std::vector<LeafWeight> weights() {
    auto name = [&](const char *suffix) { return prefix + suffix; };
    std::vector<int64_t> ids = c.node.getInts(name("_ids"));
    size_t count = ids.size();
    auto inTrees = perNode(c, name("_treeids"), c.node.getInts(name("_treeids")), count);
    auto ofNodes = perNode(c, name("_nodeids"), c.node.getInts(name("_nodeids")), count);
    auto numbers = perNode(c, name("_weights"), floatsAttribute(c, name("_weights")), count);
    std::vector<LeafWeight> result;
    for (size_t i = 0; i < count; ++i) {
      auto found = places.find(Key(inTrees[i], ofNodes[i]));
      if (found == places.end())
        c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected a node of tree {1}, got {2}",
               name("_nodeids"), inTrees[i], ofNodes[i]);
      if (order[found->second].isLeaf)
        result.push_back({order[found->second].number, ids[i], numbers[i]});
    }
    return result;
  }

  NodeContext &c;
  const std::string prefix;
  std::vector<int64_t> trees, numbers;
  std::map<Key, size_t> places;
  std::vector<TreePlace> order; // by position in the attributes
  std::vector<bool> isChild;
  std::vector<Decision> decisions;
  int64_t leafCount = 0;
};

} // namespace

WeightedForest readForest(NodeContext &c, const std::string &prefix, Type type) {
  return NumberedForest(c, prefix).read(type);
}

//===--------------------------------------------------------------------------===//
// Nodes by position
//===--------------------------------------------------------------------------===//

static std::vector<double> tensorAttribute(NodeContext &c, const char *name) {
  const Attribute *found = c.node.find(name);
  if (!found)
    return {};
  if (found->kind != Attribute::Tensor || found->stringTensor)
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected a numeric tensor", name);
  Tensor wide = found->tensor.converted(DType::F64);
  return {wide.as<double>(), wide.as<double>() + wide.elements()};
}

/// The members of each node that tests for them, which NaN ends.
static std::vector<std::vector<double>> memberSets(NodeContext &c, size_t count) {
  std::vector<std::vector<double>> sets;
  bool isOpen = false;
  for (double member : tensorAttribute(c, "membership_values")) {
    if (!isOpen)
      sets.emplace_back();
    isOpen = !std::isnan(member);
    if (isOpen)
      sets.back().push_back(member);
  }
  if (sets.size() != count)
    c.fail(ErrorKind::InvalidModel,
           "attribute 'membership_values': expected {0} sets, each ended by NaN, got {1}", count,
           sets.size());
  return sets;
}

WeightedForest readIndexedForest(NodeContext &c, Type type) {
  std::vector<double> modes = tensorAttribute(c, "nodes_modes");
  size_t count = modes.size();
  auto ints = [&](const char *name, bool isOptional = false) {
    return perNode(c, name, c.node.getInts(name), count, isOptional);
  };
  std::vector<int64_t> features = ints("nodes_featureids"), yes = ints("nodes_truenodeids"),
                       no = ints("nodes_falsenodeids"), yesLeafs = ints("nodes_trueleafs"),
                       noLeafs = ints("nodes_falseleafs"),
                       missing = ints("nodes_missing_value_tracks_true", true);
  auto splits = perNode(c, "nodes_splits", tensorAttribute(c, "nodes_splits"), count);
  std::vector<double> leafWeights = tensorAttribute(c, "leaf_weights");
  std::vector<int64_t> targets =
      perNode(c, "leaf_targetids", c.node.getInts("leaf_targetids"), leafWeights.size());
  auto leaves = static_cast<int64_t>(leafWeights.size());

  constexpr auto kMember = static_cast<int>(Comparison::Member);
  auto sets = memberSets(c, llvm::count(modes, kMember));
  size_t set = 0;
  std::vector<Decision> decisions(count);
  auto place = [&](const char *attribute, int64_t number, bool isLeaf) {
    auto size = isLeaf ? leaves : static_cast<int64_t>(count);
    return TreePlace{isLeaf, checkedInside(c, attribute, number, size)};
  };
  for (size_t i = 0; i < count; ++i) {
    Decision &decision = decisions[i];
    auto mode = static_cast<int64_t>(modes[i]);
    decision.comparison =
        static_cast<Comparison>(checkedInside(c, "nodes_modes", mode, kMember + 1));
    decision.feature = checkedFeature(c, features[i]);
    decision.threshold = splits[i];
    if (mode == kMember)
      decision.members = sets[set++];
    decision.yes = place("nodes_truenodeids", yes[i], yesLeafs[i] != 0);
    decision.no = place("nodes_falsenodeids", no[i], noLeafs[i] != 0);
    decision.isMissingYes = !missing.empty() && missing[i] != 0;
  }
  std::vector<TreePlace> roots;
  for (int64_t root : c.node.getInts("tree_roots"))
    roots.push_back(place("tree_roots", root, /*isLeaf=*/false));
  if (roots.empty())
    c.fail(ErrorKind::InvalidModel, "attribute 'tree_roots': expected trees, got none");

  WeightedForest result{buildForest(c, decisions, leaves, roots, type), {}};
  for (int64_t i = 0; i < leaves; ++i)
    result.weights.push_back({i, targets[i], leafWeights[i]});
  return result;
}

} // namespace headrace::onnx
