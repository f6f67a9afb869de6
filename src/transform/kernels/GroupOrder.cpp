#include "transform/kernels/GroupOrder.h"

#include "mlir/IR/Operation.h"

using namespace mlir;

namespace headrace {

GroupOrder::GroupOrder(Block &body) {
  for (Operation &op : body) {
    nodeOf[&op] = nodes.size();
    sequence.push_back(nodes.size());
    nodes.push_back({{&op}, nodes.size()});
  }
}

/// The nodes that read its results, any number of times each.
SmallVector<GroupOrder::Node> GroupOrder::waitingFor(Node node) const {
  SmallVector<Node> readers;
  for (Operation *op : nodes[node].operations)
    for (Operation *user : op->getUsers())
      if (Node reader = nodeOf.lookup(user); reader != node)
        readers.push_back(reader);
  return readers;
}

/// Nodes that wait for the first one and are before the last one; whether that waits for any.
llvm::DenseSet<GroupOrder::Node> GroupOrder::between(Node first, Node last, bool &isReached) const {
  llvm::DenseSet<Node> found;
  isReached = false;
  SmallVector<Node> pending{first};
  while (!pending.empty()) {
    Node node = pending.pop_back_val();
    for (Node reader : waitingFor(node)) {
      if (reader == last)
        isReached |= node != first;
      else if (nodes[reader].position < nodes[last].position && found.insert(reader).second)
        pending.push_back(reader);
    }
  }
  return found;
}

bool GroupOrder::wouldWaitForItself(Operation *a, Operation *b) const {
  Node first = nodeOf.lookup(a), last = nodeOf.lookup(b);
  if (first == last)
    return false;
  if (nodes[first].position > nodes[last].position)
    std::swap(first, last);
  bool isReached = false;
  (void)between(first, last, isReached);
  return isReached;
}

void GroupOrder::merge(Operation *a, Operation *b) {
  Node first = nodeOf.lookup(a), last = nodeOf.lookup(b);
  if (first == last)
    return;
  if (nodes[first].position > nodes[last].position)
    std::swap(first, last);
  bool isReached = false;
  llvm::DenseSet<Node> after = between(first, last, isReached);
  size_t begin = nodes[first].position, end = nodes[last].position;
  for (Operation *op : nodes[first].operations)
    nodeOf[op] = last;
  llvm::append_range(nodes[last].operations, nodes[first].operations);
  nodes[first].operations.clear();
  // Nodes that wait for neither, then both as one, then nodes that wait for the first.
  std::vector<Node> region(sequence.begin() + begin, sequence.begin() + end + 1);
  size_t next = begin;
  auto put = [&](Node node) {
    sequence[next] = node;
    nodes[node].position = next++;
  };
  for (Node node : region)
    if (node != first && node != last && !after.contains(node))
      put(node);
  put(first); // nothing is left of it
  put(last);
  for (Node node : region)
    if (after.contains(node))
      put(node);
}

bool GroupOrder::tryRegroup(ArrayRef<SmallVector<Operation *>> sets) {
  GroupOrder before = *this;
  for (const SmallVector<Operation *> &set : sets)
    for (Operation *op : set) {
      llvm::erase(nodes[nodeOf[op]].operations, op);
      if (op == set.front())
        nodes.push_back({});
      nodeOf[op] = nodes.size() - 1;
      nodes.back().operations.push_back(op);
    }
  if (sort())
    return true;
  *this = std::move(before);
  return false;
}

/// Puts all nodes in order; false if they wait for each other.
bool GroupOrder::sort() {
  std::vector<size_t> waits(nodes.size()); // for how many reads
  for (Node node = 0; node < nodes.size(); ++node)
    for (Node reader : waitingFor(node))
      ++waits[reader];
  sequence.clear();
  for (Node node = 0; node < nodes.size(); ++node)
    if (waits[node] == 0)
      sequence.push_back(node);
  for (size_t next = 0; next < sequence.size(); ++next) {
    nodes[sequence[next]].position = next;
    for (Node reader : waitingFor(sequence[next]))
      if (--waits[reader] == 0)
        sequence.push_back(reader);
  }
  return sequence.size() == nodes.size();
}

} // namespace headrace
