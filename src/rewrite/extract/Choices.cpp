#include "rewrite/extract/Choices.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace headrace::rewrite {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double checkedCost(const EGraph &graph, NodeId node, const CostModel &model) {
  double cost = model.costOf(graph, node);
  if (std::isnan(cost) || cost < 0)
    throw InternalError("the cost of " + graph.vocabulary().print(graph.opId(node)) +
                        " is negative or no number");
  return cost;
}

// By class id; infinity if no term is finite. A choice changes only if it gets cheaper, which
// is why zero costs cannot lead around in a circle.
struct Trees {
  std::vector<double> costs;
  std::vector<NodeId> nodes;
};

Trees cheapestTrees(const EGraph &graph, const CostModel &model) {
  Trees trees{std::vector<double>(graph.classIdEnd(), infinity),
              std::vector<NodeId>(graph.classIdEnd(), 0)};
  std::vector<double> own(graph.nodeIdEnd(), infinity);
  std::vector<std::vector<NodeId>> users(graph.classIdEnd());
  std::deque<NodeId> open;
  std::vector<bool> isOpen(graph.nodeIdEnd());
  for (ClassId id : graph.classes())
    for (NodeId node : graph.nodesOf(id)) {
      own[node] = checkedCost(graph, node, model);
      for (ClassId operand : graph.operandsOf(node))
        users[operand].push_back(node);
      if (graph.operandsOf(node).empty()) {
        open.push_back(node);
        isOpen[node] = true;
      }
    }
  while (!open.empty()) {
    NodeId node = open.front();
    open.pop_front();
    isOpen[node] = false;
    double cost = own[node];
    for (ClassId operand : graph.operandsOf(node))
      cost += trees.costs[operand];
    ClassId owner = graph.classOf(node);
    if (!(cost < trees.costs[owner]))
      continue;
    trees.costs[owner] = cost;
    trees.nodes[owner] = node;
    for (NodeId user : users[owner])
      if (!isOpen[user]) {
        open.push_back(user);
        isOpen[user] = true;
      }
  }
  return trees;
}

bool isFinite(const EGraph &graph, NodeId node, const Trees &trees) {
  return std::ranges::all_of(graph.operandsOf(node),
                             [&](ClassId operand) { return trees.costs[operand] < infinity; });
}

} // namespace

Choices choicesFor(const EGraph &graph, ClassId root, const CostModel &model) {
  root = graph.find(root);
  Trees trees = cheapestTrees(graph, model);
  if (trees.costs[root] == infinity)
    throw Error(ErrorKind::InvalidArgument, "every term of the class has infinite cost");
  Choices choices;
  std::unordered_map<ClassId, uint32_t> numbers = {{root, 0}};
  choices.ids.push_back(root);
  auto numberOf = [&](ClassId id) {
    auto [at, isNew] = numbers.emplace(id, static_cast<uint32_t>(choices.ids.size()));
    if (isNew)
      choices.ids.push_back(id);
    return at->second;
  };
  for (size_t i = 0; i < choices.ids.size(); ++i) {
    ClassId id = choices.ids[i];
    std::vector<Option> options;
    uint32_t tree = 0;
    for (NodeId node : graph.nodesOf(id)) {
      double cost = model.costOf(graph, node);
      std::span<const ClassId> operands = graph.operandsOf(node);
      bool needsItself = std::ranges::find(operands, id) != operands.end();
      if (cost == infinity || needsItself || !isFinite(graph, node, trees))
        continue;
      if (trees.nodes[id] == node)
        tree = static_cast<uint32_t>(options.size());
      Option option{node, cost, {}};
      for (ClassId operand : operands)
        option.operands.push_back(numberOf(operand));
      std::ranges::sort(option.operands);
      auto [from, to] = std::ranges::unique(option.operands);
      option.operands.erase(from, to);
      options.push_back(std::move(option));
    }
    choices.classes.push_back(std::move(options));
    choices.cheapestTree.push_back(tree);
  }
  return choices;
}

double costOf(const Choices &choices, const Selection &selection) {
  enum : uint8_t { Unseen, Open, Done };
  std::vector<uint8_t> states(choices.classes.size(), Unseen);
  struct Frame {
    uint32_t id;
    size_t next;
  };
  std::vector<Frame> path = {{choices.root, 0}};
  states[choices.root] = Open;
  double sum = choices.classes[choices.root][selection[choices.root]].cost;
  while (!path.empty()) {
    Frame &frame = path.back();
    const Option &option = choices.classes[frame.id][selection[frame.id]];
    if (frame.next == option.operands.size()) {
      states[frame.id] = Done;
      path.pop_back();
      continue;
    }
    uint32_t operand = option.operands[frame.next++];
    if (states[operand] == Open)
      return infinity;
    if (states[operand] == Unseen) {
      states[operand] = Open;
      sum += choices.classes[operand][selection[operand]].cost;
      path.push_back({operand, 0});
    }
  }
  return sum;
}

} // namespace headrace::rewrite
