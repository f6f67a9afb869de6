#include "script/plan/Partition.h"

#include "script/plan/Cost.h"
#include <algorithm>

namespace headrace::script {

// Below this a node is cheaper on the host than a kernel is to start, even after it is compiled.
static constexpr double kLargeNanoseconds = 20'000;

static bool isLeaf(const Node &node) {
  return node.op == Op::Input || node.op == Op::Literal || node.op == Op::SizeValue;
}

static bool compilableValue(const Node &node) {
  if (node.isMatrix())
    return node.known.sizesKnown() && !node.known.sparse;
  return node.isScalar() && !node.known.type.isString() &&
         node.known.type.value != ValueType::Unknown;
}

/// A function of integers: compiled code has doubles.
static bool isExact(const Dag &dag, const Node &node) {
  return std::ranges::all_of(node.inputs, [&](int input) {
    const Type &type = dag.nodes[input].known.type;
    return type.isScalar() && type.value == ValueType::Integer;
  });
}

bool compilable(const Dag &dag, const Node &node) {
  auto isLiteral = [&](int input) { return dag.nodes[input].op == Op::Literal; };
  switch (node.op) {
  case Op::Cell:
    if (std::ranges::all_of(node.inputs, isLiteral) || isExact(dag, node))
      return false;
    break;
  case Op::MatMul:
  case Op::Transpose:
  case Op::Aggregate:
  case Op::Fill:
  case Op::Bind:
  case Op::ToScalar:
    break;
  default:
    return false;
  }
  return !node.irregular && compilableValue(node) &&
         std::ranges::all_of(node.inputs,
                             [&](int input) { return compilableValue(dag.nodes[input]); });
}

std::vector<bool> neededNodes(const Dag &dag,
                              std::span<const std::pair<std::string, int>> results) {
  std::vector<bool> needed(dag.nodes.size());
  for (const auto &[name, node] : results)
    needed[node] = true;
  for (size_t i = dag.nodes.size(); i-- > 0;) {
    needed[i] = needed[i] || dag.nodes[i].ordered;
    if (needed[i])
      for (int input : dag.nodes[i].inputs)
        if (input >= 0)
          needed[input] = true;
  }
  return needed;
}

/// Nodes that a step reads, from outside of it.
static std::vector<int> operandsOf(const BlockPlan &plan, const PlanStep &step) {
  std::vector<int> operands;
  const std::vector<int> &inputs = step.segment >= 0 ? plan.segments[step.segment].segment.inputs
                                                     : plan.dag.nodes[step.node].inputs;
  for (int input : inputs)
    if (input >= 0 && plan.dag.nodes[input].op != Op::Literal)
      operands.push_back(input);
  return operands;
}

static void findLastUses(BlockPlan &plan) {
  std::vector<bool> kept(plan.dag.nodes.size());
  for (const auto &[name, node] : plan.results)
    kept[node] = true;
  for (size_t i = plan.steps.size(); i-- > 0;) {
    PlanStep &step = plan.steps[i];
    step.lastUses.clear();
    for (int operand : operandsOf(plan, step)) {
      if (!kept[operand])
        step.lastUses.push_back(operand);
      kept[operand] = true;
    }
  }
}

void planOnHost(BlockPlan &plan, std::span<const int64_t> symbols) {
  std::vector<bool> needed = neededNodes(plan.dag, plan.results);
  plan.steps.clear();
  for (size_t i = 0; i < plan.dag.nodes.size(); ++i) {
    const Node &node = plan.dag.nodes[i];
    if (!needed[i] || node.op == Op::Input || node.op == Op::Literal)
      continue;
    plan.steps.push_back({static_cast<int>(i), -1, compilable(plan.dag, node), {}});
    if (plan.steps.back().compilable)
      plan.hostNanoseconds += hostNanoseconds(plan.dag, node, symbols);
  }
  findLastUses(plan);
}

/// Large nodes, and those between two of them: on the host they would break up a segment.
static std::vector<bool> worthCompiling(const BlockPlan &plan, std::span<const int64_t> symbols,
                                        const std::vector<bool> &needed, Worth worth) {
  const Dag &dag = plan.dag;
  size_t count = dag.nodes.size();
  std::vector<bool> can(count), large(count), above(count), below(count), chosen(count);
  for (size_t i = 0; i < count; ++i) {
    const Node &node = dag.nodes[i];
    can[i] = needed[i] && compilable(dag, node);
    large[i] =
        can[i] && node.op != Op::Fill && hostNanoseconds(dag, node, symbols) >= kLargeNanoseconds;
    for (int input : node.inputs)
      if (input >= 0 && can[input])
        above[i] = above[i] || large[input] || above[input];
  }
  for (size_t i = count; i-- > 0;)
    if (can[i])
      for (int input : dag.nodes[i].inputs)
        if (input >= 0)
          below[input] = below[input] || large[i] || below[i];
  for (size_t i = 0; i < count; ++i)
    chosen[i] = can[i] && (worth == Worth::All || large[i] || (above[i] && below[i]));
  // A fill that only compiled nodes read costs them nothing.
  if (worth == Worth::Large) {
    std::vector<bool> readOutside(count), readInside(count);
    for (const auto &[name, node] : plan.results)
      readOutside[node] = true;
    for (size_t i = 0; i < count; ++i)
      if (needed[i])
        for (int input : dag.nodes[i].inputs)
          if (input >= 0)
            (chosen[i] ? readInside : readOutside)[input] = true;
    for (size_t i = 0; i < count; ++i)
      chosen[i] =
          chosen[i] || (can[i] && dag.nodes[i].op == Op::Fill && readInside[i] && !readOutside[i]);
  }
  return chosen;
}

/// Host and compiled nodes take turns: even stages are the host's, odd ones compiled.
static std::vector<int> stagesOf(const Dag &dag, const std::vector<bool> &needed,
                                 const std::vector<bool> &chosen) {
  std::vector<int> stages(dag.nodes.size());
  int lastOrdered = 0;
  for (size_t i = 0; i < dag.nodes.size(); ++i) {
    const Node &node = dag.nodes[i];
    if (!needed[i] || isLeaf(node))
      continue;
    int stage = chosen[i] ? 1 : 0;
    for (int input : node.inputs)
      if (input >= 0 && !isLeaf(dag.nodes[input]))
        stage = std::max(stage, stages[input] + (chosen[input] != chosen[i]));
    if (node.ordered)
      stage = lastOrdered = std::max(stage, lastOrdered);
    stages[i] = stage;
  }
  return stages;
}

void planSegments(BlockPlan &plan, std::span<const int64_t> symbols, Worth worth) {
  const Dag &dag = plan.dag;
  std::vector<bool> needed = neededNodes(dag, plan.results);
  std::vector<bool> chosen = worthCompiling(plan, symbols, needed, worth);
  std::vector<int> stages = stagesOf(dag, needed, chosen);
  std::vector<bool> wanted(dag.nodes.size());
  for (const auto &[name, node] : plan.results)
    wanted[node] = true;
  for (size_t i = 0; i < dag.nodes.size(); ++i)
    if (needed[i])
      for (int input : dag.nodes[i].inputs)
        if (input >= 0 && chosen[input] && (!chosen[i] || stages[i] != stages[input]))
          wanted[input] = true;

  plan.steps.clear();
  plan.segments.clear();
  // Sizes come first: any step may read them.
  for (size_t i = 0; i < dag.nodes.size(); ++i)
    if (needed[i] && dag.nodes[i].op == Op::SizeValue)
      plan.steps.push_back({static_cast<int>(i), -1, false, {}});
  std::vector<std::vector<int>> nodesOf(
      stages.empty() ? 0 : static_cast<size_t>(*std::ranges::max_element(stages)) + 1);
  for (size_t i = 0; i < dag.nodes.size(); ++i)
    if (needed[i] && !isLeaf(dag.nodes[i]))
      nodesOf[stages[i]].push_back(static_cast<int>(i));
  for (const std::vector<int> &nodes : nodesOf) {
    Segment segment;
    for (int node : nodes) {
      if (chosen[node])
        segment.nodes.push_back(node);
      else
        plan.steps.push_back({node, -1, false, {}});
    }
    if (segment.nodes.empty())
      continue;
    closeSegment(dag, segment, wanted);
    segment.expectedSizes.assign(symbols.begin(), symbols.end());
    plan.steps.push_back({-1, static_cast<int>(plan.segments.size()), false, {}});
    plan.segments.push_back({std::move(segment), nullptr, nullptr});
  }
  plan.partitioned = true;
  findLastUses(plan);
}

} // namespace headrace::script
