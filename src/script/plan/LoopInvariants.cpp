#include "script/plan/LoopInvariants.h"

#include "runtime/system/AvailableMemory.h"

#include "script/plan/Cost.h"
#include "script/plan/PlanText.h"
#include <algorithm>
#include <bit>
#include <cstdio>

namespace headrace::script {

// An operation that saves less is not worth comparing operands for.
static constexpr double kMinNanoseconds = 20'000;
// An operation is computed again if that takes at most this multiple of reading its result.
static constexpr double kMinGain = 2;

static ValueIdentity identityOf(const Value &value) {
  if (value.version())
    return value.version();
  if (auto *whole = value.as<int64_t>())
    return *whole;
  if (auto *real = value.as<double>())
    return *real;
  if (auto *truth = value.as<bool>())
    return *truth;
  if (auto *text = value.as<std::string>())
    return *text;
  return {};
}

static bool isSame(const ValueIdentity &a, const ValueIdentity &b) {
  if (auto *x = std::get_if<double>(&a))
    if (auto *y = std::get_if<double>(&b))
      return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
  return a.index() != 0 && a == b;
}

PlanOperands planOperands(const Dag &dag, std::span<const int64_t> symbols,
                          const Environment &variables) {
  PlanOperands operands{{symbols.begin(), symbols.end()}, {}};
  for (const Node &node : dag.nodes)
    if (node.op == Op::Input)
      if (auto found = variables.find(node.name); found != variables.end())
        operands.inputs[node.name] = identityOf(found->second);
  return operands;
}

std::set<std::string> PlanOperands::sameAs(const PlanOperands &other) const {
  std::set<std::string> same;
  if (symbols == other.symbols)
    for (const auto &[name, value] : inputs)
      if (auto found = other.inputs.find(name);
          found != other.inputs.end() && isSame(value, found->second))
        same.insert(name);
  return same;
}

namespace {

/// Chooses which nodes of a plan are computed once.
class InvariantNodes {
public:
  InvariantNodes(const BlockPlan &plan, const std::set<std::string> &same,
                 std::span<const int64_t> symbols, Worth worth)
      : dag(plan.dag), symbols(symbols), worth(worth), needed(neededNodes(dag, plan.results)),
        invariant(dag.nodes.size()), readers(dag.nodes.size()) {
    largest = static_cast<double>(availableMemory().value_or(SIZE_MAX)) / 8;
    for (size_t i = 0; i < dag.nodes.size(); ++i) {
      const Node &node = dag.nodes[i];
      if (!needed[i])
        continue;
      auto isInvariant = [&](int input) { return input < 0 || invariant[input]; };
      invariant[i] = node.op == Op::Input
                         ? same.contains(node.name)
                         : !node.ordered && std::ranges::all_of(node.inputs, isInvariant);
      for (int input : node.inputs)
        if (input >= 0)
          readers[input].push_back(static_cast<int>(i));
    }
    for (const auto &[name, node] : plan.results)
      readers[node].push_back(-1);
  }

  /// The nodes to keep; `saved` is the time of all that only they need.
  std::vector<int> choose() {
    for (size_t i = dag.nodes.size(); i-- > 0;) {
      auto varies = [&](int reader) { return reader < 0 || !invariant[reader]; };
      if (invariant[i] && std::ranges::any_of(readers[i], varies))
        consider(static_cast<int>(i));
    }
    std::ranges::sort(kept);
    return kept;
  }

  double saved = 0;

private:
  bool isComputed(int id) const {
    Op op = dag.nodes[id].op;
    return invariant[id] && op != Op::Input && op != Op::Literal && op != Op::SizeValue;
  }

  /// The node, if keeping its value pays; else what it is made of.
  void consider(int id) {
    if (!isComputed(id) || std::ranges::find(kept, id) != kept.end())
      return;
    std::vector<bool> only(dag.nodes.size());
    only[id] = true;
    double time = 0;
    for (int i = id; i >= 0; --i) {
      if (i != id && isComputed(i) && !readers[i].empty())
        only[i] = std::ranges::all_of(readers[i],
                                      [&](int reader) { return reader >= 0 && only[reader]; });
      if (only[i])
        time += recomputationNanoseconds(dag, dag.nodes[i], symbols);
    }
    const Node &node = dag.nodes[id];
    double bytes = node.isMatrix() ? bytesOf(node.known, symbols) : 0;
    bool hasValue = node.isMatrix() ? node.known.sizesKnown() : node.isScalar();
    bool pays = time >= kMinNanoseconds && time >= kMinGain * readNanoseconds(bytes);
    if (hasValue && bytes <= largest && (pays || worth == Worth::All)) {
      kept.push_back(id);
      saved += time;
      return;
    }
    for (int input : node.inputs)
      if (input >= 0)
        consider(input);
  }

  const Dag &dag;
  std::span<const int64_t> symbols;
  Worth worth;
  std::vector<bool> needed, invariant;
  std::vector<std::vector<int>> readers; // of a result: -1, too
  std::vector<int> kept;
  double largest;
};

std::string keptName(int node) { return "kept " + std::to_string(node); }

} // namespace

std::unique_ptr<InvariantParts> splitInvariants(const BlockPlan &plan,
                                                const std::set<std::string> &same,
                                                std::span<const int64_t> symbols, Worth worth) {
  InvariantNodes nodes(plan, same, symbols, worth);
  std::vector<int> kept = nodes.choose();
  if (kept.empty())
    return nullptr;
  auto parts = std::make_unique<InvariantParts>();
  parts->predictedNanoseconds = nodes.saved;
  parts->once.dag = parts->rest.dag = plan.dag;
  parts->once.dag.assigned.clear();
  parts->rest.results = plan.results;
  for (Node &node : parts->once.dag.nodes)
    node.ordered = false; // none of those that are computed is
  for (int id : kept) {
    Node input{Op::Input};
    input.known = plan.dag.nodes[id].known;
    input.place = plan.dag.nodes[id].place;
    input.name = keptName(id);
    parts->rest.dag.nodes[id] = std::move(input);
    parts->once.results.emplace_back(keptName(id), id);
  }
  std::vector<bool> needed = neededNodes(parts->once.dag, parts->once.results);
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && parts->once.dag.nodes[i].op == Op::Input)
      parts->onceInputs.push_back(parts->once.dag.nodes[i].name);
  planOnHost(parts->once, symbols);
  planOnHost(parts->rest, symbols);
  return parts;
}

bool isKept(const InvariantParts &parts, const PlanOperands &now) {
  if (parts.kept.empty() || parts.operands.symbols != now.symbols)
    return false;
  return std::ranges::all_of(parts.onceInputs, [&](const std::string &name) {
    auto before = parts.operands.inputs.find(name), after = now.inputs.find(name);
    return before != parts.operands.inputs.end() && after != now.inputs.end() &&
           isSame(before->second, after->second);
  });
}

std::string invariantsText(const InvariantParts &parts, const BasicBlock &block, size_t first,
                           std::span<const int64_t> symbols) {
  std::string text =
      "block at " + block.statements[first]->place.text() + ": computed once for equal operands:";
  double bytes = 0;
  for (const auto &[name, id] : parts.once.results) {
    const Node &node = parts.once.dag.nodes[id];
    text += (bytes > 0 ? ", " : " ") + operationName(node) + ":" +
            std::to_string(node.place.source->line(node.place.offset));
    bytes += node.isMatrix() ? bytesOf(node.known, symbols) : sizeof(double);
  }
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "; saves about %.1f us an iteration, keeps ",
                parts.predictedNanoseconds * 1e-3);
  return text + numbers + memoryText(static_cast<size_t>(bytes)) + "\n";
}

} // namespace headrace::script
