#include "explore/operators/OperatorGraph.h"

#include <algorithm>
#include <numeric>

namespace headrace::explore {

namespace {

using Kind = Operator::Kind;
using Operand = Operator::Operand;

// Operators join the only reader of their result, so that a set of them is a tree with one result.
// No set waits for another that waits for it: whatever reads its result is behind its root.
class Fusion {
public:
  explicit Fusion(const OperatorGraph &graph)
      : graph(graph), reader(graph.operators.size(), unread), root(graph.operators.size()),
        core(graph.operators.size()) {
    std::iota(root.begin(), root.end(), 0);
    std::iota(core.begin(), core.end(), 0);
    for (size_t i = 0; i < graph.operators.size(); ++i)
      for (const Operand &operand : graph.operators[i].operands)
        note(operand.from, static_cast<int>(i));
    for (int result : graph.results)
      note(result, several);
  }

  OperatorGraph run() {
    for (size_t i = 0; i < graph.operators.size(); ++i)
      for (const Operand &operand : graph.operators[i].operands)
        tryJoin(operand, static_cast<int>(i));
    OperatorGraph result{graph.name, {}, {}};
    std::vector<int> numbers(graph.operators.size(), -1);
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      if (root[i] != static_cast<int>(i))
        continue;
      Operator op = joined(static_cast<int>(i));
      for (Operand &operand : op.operands)
        operand.from = numbers[operand.from];
      numbers[i] = static_cast<int>(result.operators.size());
      result.operators.push_back(std::move(op));
    }
    for (int number : graph.results)
      result.results.push_back(numbers[number]);
    return result;
  }

private:
  static constexpr int unread = -1, several = -2;

  void note(int producer, int by) {
    int &known = reader[producer];
    known = known == unread || known == by ? by : several;
  }

  const Operator &coreOf(int number) const { return graph.operators[core[number]]; }

  void tryJoin(const Operand &operand, int to) {
    const Operator &from = graph.operators[operand.from], &op = graph.operators[to];
    bool sameKernel = op.kernel >= 0 && from.kernel == op.kernel;
    if (!sameKernel || reader[operand.from] != to || operand.access != Operator::Access::InOrder ||
        from.kind == Kind::View || root[operand.from] == to)
      return;
    bool follows = op.kind == Kind::Map && from.output == op.output &&
                   (op.operands.size() == 1 || coreOf(operand.from).kind == Kind::Map);
    bool precedes = coreOf(operand.from).kind == Kind::Map && op.kind != Kind::Map &&
                    mayPrecede(operand.from, op);
    if (!follows && !precedes)
      return;
    if (follows && coreOf(operand.from).kind != Kind::Map)
      core[to] = core[operand.from];
    root[operand.from] = to;
  }

  // An operator that reads all of a stream once takes any map before it; others only one that is
  // a function of that stream.
  bool mayPrecede(int map, const Operator &op) const {
    if (op.kind == Kind::Reduction)
      return op.points == graph.operators[map].output;
    std::vector<Operand> operands;
    collect(map, operands);
    return op.kind != Kind::View && operands.size() == 1 &&
           graph.operators[operands.front().from].output == graph.operators[map].output;
  }

  // The operands that the set reads from outside.
  void collect(int number, std::vector<Operand> &operands) const {
    for (const Operand &operand : graph.operators[number].operands)
      if (root[operand.from] != operand.from && reader[operand.from] == number)
        collect(operand.from, operands);
      else
        operands.push_back(operand);
  }

  void collectMembers(int number, std::vector<int> &members) const {
    for (const Operand &operand : graph.operators[number].operands)
      if (root[operand.from] != operand.from && reader[operand.from] == number &&
          std::ranges::find(members, operand.from) == members.end())
        collectMembers(operand.from, members);
    members.push_back(number);
  }

  Operator joined(int number) const {
    std::vector<int> members;
    collectMembers(number, members);
    Operator op = coreOf(number);
    op.output = graph.operators[number].output;
    op.operands.clear();
    collect(number, op.operands);
    op.names.clear();
    op.fusedPoints = -op.points;
    for (int member : members) {
      const Operator &part = graph.operators[member];
      op.fusedPoints += part.points + part.fusedPoints;
      for (const std::string &name : part.names)
        if (std::ranges::find(op.names, name) == op.names.end())
          op.names.push_back(name);
    }
    return op;
  }

  const OperatorGraph &graph;
  std::vector<int> reader; // the only one of each operator's result
  std::vector<int> root;   // itself, or the reader that it joined
  std::vector<int> core;   // of the set that ends in it: the operator that says how it is cut
};

} // namespace

int64_t OperatorGraph::points() const {
  int64_t total = 0;
  for (const Operator &op : operators)
    total += op.points + op.fusedPoints;
  return total;
}

OperatorGraph fused(const OperatorGraph &graph) { return Fusion(graph).run(); }

} // namespace headrace::explore
