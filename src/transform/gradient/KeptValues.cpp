// Keeping a value costs its way to memory and back; computing it again costs operations, and the
// movement of what does not fuse. The cheapest choice is a minimum cut: values on the source's side
// are known when the backward program starts, those on the sink's side are computed in it. A value
// that is kept is an edge cut between its two sides; one that is computed again cuts the edge of
// its computation.
//
// A budget is met by a price on kept bytes, the smallest for which the cut keeps few enough. That
// finds the best choice for every budget at which the price changes it, and one that keeps fewer
// bytes between those.
#include "transform/gradient/KeptValues.h"

#include "analysis/OperatorWork.h"
#include "transform/common/MinimumCut.h"
#include "transform/kernels/KernelGroup.h"

using namespace mlir;

namespace headrace {
namespace {

/// Costs are picoseconds on all cores: a minimum cut wants integers.
constexpr int64_t kMaxCost = int64_t(1) << 44;

class Costs {
public:
  Costs(func::FuncOp program, const Machine &machine)
      : machine(machine), sizes(sizeHints(program)) {}

  int64_t bytesOf(Value value) const {
    return static_cast<int64_t>(
        std::min(bytesAtHints(value, sizes), static_cast<double>(SizeHints::kMax)));
  }
  /// Bytes on their way to memory, or back: between the two programs caches do not keep them.
  int64_t ofMoving(double bytes) const {
    return timeOf(bytes / machine.rates.bytesPerMicrosecond(kInMemory, machine.rates.threads));
  }
  int64_t ofComputing(Operation *op) const;

private:
  static constexpr double kInMemory = 1e12;
  static int64_t timeOf(double microseconds) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::min(microseconds * 1e6, 1e18)), 1,
                               kMaxCost);
  }

  const Machine &machine;
  SizeHints sizes;
};

bool isMovedByNothing(Operation *op) {
  auto viewed = dyn_cast<hr::OperatorInterface>(op);
  return viewed && viewed.getFusionRole() == FusionRole::View;
}

/// Element-wise work joins the kernels of its users: computing it again moves nothing.
bool fusesAnyway(Operation *op) { return isa<hr::MapOp>(op) || isMovedByNothing(op); }

int64_t Costs::ofComputing(Operation *op) const {
  if (isMovedByNothing(op))
    return 1;
  Work work = workOf(cast<hr::OperatorInterface>(op), sizes);
  work.kernelCalls = 0;
  if (fusesAnyway(op)) {
    work.streams.clear();
  } else {
    // The result is written, and read by what needs it.
    work.move(bytesAtHints(op->getResult(0), sizes), 0);
    for (Work::Stream &stream : work.streams)
      stream.workingSet = kInMemory;
  }
  return timeOf(machine.cost->microseconds(work, machine.rates.threads));
}

/// Whether the forward program writes the value to memory for itself: it comes from, or goes to,
/// something that does not fuse with its neighbours.
bool isInMemory(Value value, const llvm::DenseSet<Value> &late) {
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return true;
  bool readForward = false, readFromMemory = false;
  for (Operation *user : value.getUsers()) {
    if (user->getNumResults() != 1 || late.contains(user->getResult(0)))
      continue;
    readForward = true;
    readFromMemory |= !fusesAnyway(user);
  }
  return readForward && (readFromMemory || !fusesAnyway(producer));
}

/// The values that these are computed from, and themselves.
llvm::DenseSet<Value> neededBy(ValueRange values) {
  llvm::DenseSet<Value> needed;
  SmallVector<Value> pending(values);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (needed.insert(value).second && value.getDefiningOp())
      llvm::append_range(pending, value.getDefiningOp()->getOperands());
  }
  return needed;
}

struct Choice {
  std::vector<bool> kept;
  int64_t bytes = 0;
};

Choice cutAt(const GradientGraph &graph, double price) {
  MinimumCut cut;
  int source = cut.addNode(), sink = cut.addNode();
  std::vector<std::pair<int, int>> sides;
  for (const GradientGraph::Node &node : graph.nodes) {
    int computed = cut.addNode(), available = cut.addNode();
    sides.emplace_back(computed, available);
    double keeping = static_cast<double>(node.keeping);
    if (!node.free)
      keeping += price * static_cast<double>(node.bytes);
    bool isKept = node.given == true, isAgain = node.given == false;
    cut.addEdge(
        computed, available,
        isAgain ? MinimumCut::kUncut
                : std::clamp<int64_t>(static_cast<int64_t>(keeping), 1, MinimumCut::kUncut / 4));
    cut.addEdge(source, computed,
                node.value.getDefiningOp() && !isKept ? node.computing : MinimumCut::kUncut);
    for (int operand : node.operands)
      cut.addEdge(sides[operand].second, computed, MinimumCut::kUncut);
    if (node.neededBackward || isKept)
      cut.addEdge(available, sink, MinimumCut::kUncut);
  }
  std::vector<bool> known = cut.sourceSide(source, sink);
  Choice choice;
  for (auto [node, side] : llvm::zip(graph.nodes, sides)) {
    bool kept = known[side.first] && !known[side.second];
    choice.kept.push_back(kept);
    if (kept && !node.free)
      choice.bytes += node.bytes;
  }
  return choice;
}

} // namespace

llvm::DenseSet<Value> GradientGraph::dependsOnSeeds(func::FuncOp joint, unsigned inputs) {
  llvm::DenseSet<Value> late;
  for (Value seed : joint.getArguments().drop_front(inputs))
    late.insert(seed);
  for (Operation &op : joint.getBody().front().without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value v) { return late.contains(v); }))
      late.insert(op.getResult(0));
  return late;
}

GradientGraph GradientGraph::of(func::FuncOp joint, unsigned inputs, unsigned outputs,
                                const Machine &machine) {
  GradientGraph graph;
  Costs costs(joint, machine);
  Operation *ret = joint.getBody().front().getTerminator();
  auto returned = [&](Value value, unsigned first, unsigned count) {
    return llvm::is_contained(ret->getOperands().slice(first, count), value);
  };
  llvm::DenseSet<Value> late = dependsOnSeeds(joint, inputs);
  llvm::DenseSet<Value> forward = neededBy(ret->getOperands().take_front(outputs));
  llvm::DenseMap<Value, int> positions;
  unsigned gradients = ret->getNumOperands() - outputs;
  auto add = [&](Value value) {
    Node node;
    node.value = value;
    node.bytes = costs.bytesOf(value);
    node.free = isa<BlockArgument>(value) || returned(value, 0, outputs);
    node.keeping = costs.ofMoving((node.free || isInMemory(value, late) ? 1 : 2) *
                                  static_cast<double>(node.bytes));
    // Of a value and its views, the value.
    if (isa_and_nonnull<hr::ReshapeOp, hr::CheckOp>(value.getDefiningOp()))
      node.keeping += 2;
    node.neededBackward =
        returned(value, outputs, gradients) || llvm::any_of(value.getUsers(), [&](Operation *user) {
          return user->getNumResults() == 1 && late.contains(user->getResult(0));
        });
    if (Operation *producer = value.getDefiningOp()) {
      // A value that the forward program does not need itself is computed once, in either program.
      node.computing = forward.contains(value) ? costs.ofComputing(producer) : 1;
      for (Value operand : producer->getOperands())
        if (auto found = positions.find(operand); found != positions.end())
          node.operands.push_back(found->second);
    }
    positions[value] = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back(std::move(node));
  };
  for (Value input : joint.getArguments().take_front(inputs))
    add(input);
  // Constants, and what is evaluated from them alone when the programs are compiled.
  llvm::DenseSet<Value> constants;
  for (Operation &op : joint.getBody().front().without_terminator())
    if (llvm::all_of(op.getOperands(), [&](Value v) { return constants.contains(v); }))
      constants.insert(op.getResult(0));
  for (Operation &op : joint.getBody().front().without_terminator())
    if (!late.contains(op.getResult(0)) && !constants.contains(op.getResult(0)))
      add(op.getResult(0));
  return graph;
}

SmallVector<Value> chooseKeptValues(const GradientGraph &graph, std::optional<int64_t> budget) {
  Choice best = cutAt(graph, 0);
  if (budget && best.bytes > *budget) {
    // Between a price that keeps too much and one that does not.
    double low = 0, high = 1;
    constexpr double kHighest = 1 << 30;
    for (best = cutAt(graph, high); best.bytes > *budget && high < kHighest; high *= 4) {
      low = high;
      best = cutAt(graph, high * 4);
    }
    for (int i = 0; i < 16; ++i) {
      double middle = (low + high) / 2;
      Choice choice = cutAt(graph, middle);
      if (choice.bytes <= *budget) {
        best = std::move(choice);
        high = middle;
      } else {
        low = middle;
      }
    }
  }
  SmallVector<Value> kept;
  for (auto [node, keeps] : llvm::zip(graph.nodes, best.kept))
    if (keeps)
      kept.push_back(node.value);
  return kept;
}

} // namespace headrace
