#include "script/plan/SparsePlan.h"

#include "script/host/ZeroCells.h"
#include "script/plan/Partition.h"
#include "script/plan/SparseRewriter.h"
#include <algorithm>

namespace headrace::script {

void SparseRewriter::findInner() {
  readers.resize(from.nodes.size());
  for (const auto &[name, node] : results)
    readers[node].push_back(-1);
  std::vector<bool> needed = neededNodes(from, results);
  for (size_t i = 0; i < from.nodes.size(); ++i)
    for (int input : from.nodes[i].inputs)
      if (input >= 0 && needed[i])
        readers[input].push_back(static_cast<int>(i));
  std::vector<bool> readElsewhere(from.nodes.size());
  for (const auto &[name, node] : results)
    readElsewhere[node] = true;
  for (size_t i = from.nodes.size(); i-- > 0;) {
    const Node &node = from.nodes[i];
    bool dense = node.isMatrix() && !node.known.sparse;
    inner[i] = !readElsewhere[i] && dense && (node.op == Op::Cell || node.op == Op::MatMul);
    bool samples = node.op == Op::Cell && (node.known.sparse || inner[i]);
    for (int input : node.inputs)
      if (input >= 0 && !samples)
        readElsewhere[input] = true;
  }
}

int SparseRewriter::copy(Node node) {
  nodes.push_back(std::move(node));
  return static_cast<int>(nodes.size()) - 1;
}

Known SparseRewriter::storedCells(int pattern) const {
  Known known;
  known.type = Type::matrix();
  known.rows = nodes[pattern].known.nonzeros;
  known.cols = 1;
  known.density = 1;
  return known;
}

const Node *storedIn(const std::vector<Node> &nodes, int id) {
  const Node *node = &nodes[id];
  if (node->op == Op::ZerosKept)
    node = &nodes[node->inputs[0]];
  return node->op == Op::WithValues ? node : nullptr;
}

int patternIn(const std::vector<Node> &nodes, int id) {
  const Node *stored = storedIn(nodes, id);
  return stored ? stored->inputs[0] : id;
}

int SparseRewriter::values(int pattern) {
  auto [entry, isNew] = valuesOf.emplace(pattern, -1);
  if (isNew) {
    Node node{Op::Values, {pattern}};
    node.known = storedCells(pattern);
    node.place = nodes[pattern].place;
    entry->second = copy(std::move(node));
  }
  return entry->second;
}

bool SparseRewriter::hasSizeOf(int id, const Node &pattern) const {
  const Known &known = from.nodes[id].known;
  return sameSize(known.rows, pattern.known.rows) && sameSize(known.cols, pattern.known.cols);
}

/// Whether the cells of an old node can be had at those of the pattern: dense ones always. A row or
/// a column that is repeated over it is computed in full first, whatever it is made of.
bool SparseRewriter::canSample(int id, const Node &pattern) const {
  const Node &node = from.nodes[id];
  if (!node.isMatrix())
    return node.isScalar();
  if (node.known.sparse)
    return rewritten[id] >= 0 && patternIn(nodes, rewritten[id]) == &pattern - nodes.data();
  if (!hasSizeOf(id, pattern))
    return node.known.rows.isConstant(1) || node.known.cols.isConstant(1);
  if (node.op == Op::Cell && inner[id])
    return std::ranges::all_of(node.inputs, [&](int input) { return canSample(input, pattern); });
  return true;
}

int SparseRewriter::sample(int id, int pattern) {
  const Node &node = from.nodes[id];
  if (!node.isMatrix())
    return rewritten[id];
  if (node.known.sparse) {
    const Node *stored = storedIn(nodes, rewritten[id]);
    return stored ? stored->inputs[1] : values(pattern);
  }
  auto [entry, isNew] = sampledOf.emplace(std::pair(id, pattern), -1);
  if (!isNew)
    return entry->second;
  Node part{Op::Sample, {pattern, rewritten[id]}};
  part.known = storedCells(pattern);
  part.place = node.place;
  bool isInner = inner[id] && hasSizeOf(id, nodes[pattern]);
  if (node.op == Op::Cell && isInner) {
    part.op = Op::Cell;
    part.cell = node.cell;
    part.inputs.clear();
    for (int input : node.inputs)
      part.inputs.push_back(sample(input, pattern));
  } else if (node.op == Op::MatMul && isInner && !node.transposeLeft) {
    // u %*% t(v) with v in rows: a plain product's right-hand side is transposed first.
    int right = rewritten[node.inputs[1]];
    if (!node.transposeRight) {
      Node turned{Op::Transpose, {right}};
      turned.known = nodes[right].known;
      std::swap(turned.known.rows, turned.known.cols);
      turned.place = node.place;
      right = copy(std::move(turned));
    }
    part.op = Op::SampledProduct;
    part.inputs = {pattern, rewritten[node.inputs[0]], right};
  }
  return sampledOf[{id, pattern}] = copy(std::move(part));
}

/// The expression of an old node as a graph of its own, down to what the new graph computes in
/// full: those nodes are its inputs. Returns the node in `whole`.
int SparseRewriter::writeWhole(int id, int root, Dag &whole, std::vector<int> &leaves) {
  const Node &node = from.nodes[id];
  bool fromStored = node.known.sparse && rewritten[id] >= 0 && storedIn(nodes, rewritten[id]);
  bool inside = id == root || inner[id] || fromStored;
  Node part{Op::Input};
  if (node.op == Op::Literal) {
    part = node;
  } else if (inside && (node.op == Op::Cell || node.op == Op::MatMul)) {
    part = node;
    for (int &input : part.inputs)
      input = writeWhole(input, root, whole, leaves);
  } else {
    auto found = std::ranges::find(leaves, rewritten[id]);
    if (found != leaves.end()) {
      auto isLeaf = [&, which = found - leaves.begin()](const Node &other) mutable {
        return other.op == Op::Input && which-- == 0;
      };
      return static_cast<int>(std::ranges::find_if(whole.nodes, isLeaf) - whole.nodes.begin());
    }
    leaves.push_back(rewritten[id]);
    part.known = node.known;
  }
  whole.nodes.push_back(std::move(part));
  return static_cast<int>(whole.nodes.size()) - 1;
}

/// The result of an old expression from stored cells, with a check that the others are 0 if
/// that does not follow from the expression itself. `last`: a sum of it, or the cells themselves.
int SparseRewriter::checked(int result, int expression, Op last) {
  Dag whole;
  std::vector<int> leaves;
  writeWhole(expression, expression, whole, leaves);
  auto unknown = [&](int input) {
    return nodes[leaves[input]].known.sparse ? Range::of(0) : Range();
  };
  if (keepsZeros(whole, {}, unknown))
    return result;
  if (last == Op::Aggregate) {
    Node sum{Op::Aggregate, {static_cast<int>(whole.nodes.size()) - 1}};
    sum.known = nodes[result].known;
    whole.nodes.push_back(std::move(sum));
  }
  Node check{Op::ZerosKept, {result}};
  check.inputs.insert(check.inputs.end(), leaves.begin(), leaves.end());
  check.known = nodes[result].known;
  check.place = nodes[result].place;
  check.whole = std::make_shared<const Dag>(std::move(whole));
  return copy(std::move(check));
}

int SparseRewriter::rewrite(int id) {
  const Node &node = from.nodes[id];
  Node same = node;
  for (int &input : same.inputs)
    input = input < 0 ? input : rewritten[input];
  auto unchanged = [&] { return copy(std::move(same)); };

  if (int other = sumOfSquaredDeviations(id); other >= 0)
    return other;
  if (int other = productOfShifted(id); other >= 0)
    return other;
  if (int sum = sumWithOtherCells(id); sum >= 0)
    return sum;
  if (int sum = sumOfShifted(id); sum >= 0)
    return sum;
  // sum(sparse) is the sum of what is stored.
  if (node.op == Op::Aggregate && node.aggregate == AggregateKind::Sum &&
      node.extent == Extent::All && from.nodes[node.inputs[0]].known.sparse) {
    int operand = same.inputs[0];
    if (const Node *stored = storedIn(nodes, operand)) {
      same.inputs = {stored->inputs[1]};
      return checked(unchanged(), node.inputs[0], Op::Aggregate);
    }
    if (nodes[operand].op == Op::Input)
      same.inputs = {values(operand)};
    return unchanged();
  }
  if (node.op != Op::Cell || !node.known.sparse || node.inputs.size() > 2)
    return unchanged();
  // The pattern of the result: that of its one sparse operand, or of two with the same.
  int pattern = -1;
  for (int input : node.inputs) {
    if (!from.nodes[input].known.sparse)
      continue;
    int other = patternIn(nodes, rewritten[input]);
    if (pattern >= 0 && other != pattern)
      return unchanged();
    pattern = other;
  }
  bool storedKnown = pattern >= 0 && nodes[pattern].known.nonzeros.known() &&
                     sameSize(nodes[pattern].known.rows, node.known.rows) &&
                     sameSize(nodes[pattern].known.cols, node.known.cols);
  if (!storedKnown || !std::ranges::all_of(
                          node.inputs, [&](int input) { return canSample(input, nodes[pattern]); }))
    return unchanged();
  std::vector<int> operands;
  operands.reserve(node.inputs.size());
  for (int input : node.inputs)
    operands.push_back(sample(input, pattern));
  Node cells = node;
  cells.inputs = std::move(operands);
  cells.known = storedCells(pattern);
  int result = copy(std::move(cells));
  Node wrapped{Op::WithValues, {pattern, result}};
  wrapped.known = node.known;
  wrapped.known.nonzeros = nodes[pattern].known.nonzeros;
  wrapped.place = node.place;
  return checked(copy(std::move(wrapped)), id, Op::WithValues);
}

void exploitSparsity(Dag &dag, std::span<std::pair<std::string, int>> results,
                     std::span<const int64_t> symbols) {
  markSparse(dag, symbols);
  if (std::ranges::none_of(dag.nodes, [](const Node &node) { return node.known.sparse; }))
    return;
  Dag before = dag;
  SparseRewriter(before, results).run(dag);
}

} // namespace headrace::script
