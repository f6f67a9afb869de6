#include "rewrite/egraph/EGraph.h"

#include "rewrite/egraph/Analysis.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::rewrite {

void EGraph::attach(Analysis &analysis) {
  if (!nodes.empty())
    throw InternalError("an analysis came to an e-graph that already has nodes");
  analyses.push_back(&analysis);
}

NodeId EGraph::lookUp(uint64_t hash, OperatorId op, std::span<const ClassId> wanted) const {
  return table.find(hash, [&](NodeId node) {
    return nodes[node].op == op && std::ranges::equal(operandsOf(node), wanted);
  });
}

NodeId EGraph::addNode(OperatorId op, std::span<const ClassId> given) {
  wanted.assign(given.begin(), given.end());
  for (ClassId &operand : wanted)
    operand = sets.find(operand);
  uint64_t hash = hashOf(op, wanted);
  if (NodeId known = lookUp(hash, op, wanted); known != NodeTable::none)
    return known;

  auto node = static_cast<NodeId>(nodes.size());
  ClassId owner = sets.makeSet();
  nodes.push_back({op, (*words)[op].name, static_cast<uint32_t>(operands.size()),
                   static_cast<uint32_t>(wanted.size()), owner, true});
  operands.insert(operands.end(), wanted.begin(), wanted.end());
  table.insert(hash, node);
  contents.emplace_back().nodes.push_back(node);
  changedAt.push_back(rebuilds);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::find(wanted.begin(), wanted.begin() + i, wanted[i]) == wanted.begin() + i)
      contents[wanted[i]].users.push_back(node);
  ++liveNodes;
  ++liveClasses;
  for (Analysis *analysis : analyses)
    analysis->made(*this, owner, node);
  if (!analyses.empty())
    toModify.push_back(owner);
  return node;
}

ClassId EGraph::add(const Terms &terms, TermId root) {
  std::unordered_map<TermId, ClassId> classes;
  for (TermId id : terms.reachableFrom(root)) {
    std::vector<ClassId> of;
    for (TermId operand : terms[id].operands)
      of.push_back(classes.at(operand));
    classes[id] = add(terms[id].op, of);
  }
  return classes.at(root);
}

bool EGraph::merge(ClassId a, ClassId b) {
  a = sets.find(a);
  b = sets.find(b);
  if (a == b)
    return false;
  // The one with more users stays: theirs need no repair.
  auto weight = [&](ClassId id) { return contents[id].users.size(); };
  if (weight(a) < weight(b) || (weight(a) == weight(b) && b < a))
    std::swap(a, b);
  Contents &kept = contents[a], &gone = contents[b];
  for (Analysis *analysis : analyses) {
    Analysis::Joined joined = analysis->joined(a, b);
    if (joined.keptLearned)
      toReconsider.insert(toReconsider.end(), kept.users.begin(), kept.users.end());
    if (joined.goneLearned)
      toReconsider.insert(toReconsider.end(), gone.users.begin(), gone.users.end());
    if (joined.keptLearned || joined.goneLearned)
      toModify.push_back(a);
  }
  sets.unite(a, b);
  toRepair.insert(toRepair.end(), gone.users.begin(), gone.users.end());
  kept.nodes.insert(kept.nodes.end(), gone.nodes.begin(), gone.nodes.end());
  kept.users.insert(kept.users.end(), gone.users.begin(), gone.users.end());
  kept.changed = true;
  changedAt[a] = rebuilds;
  gone = {};
  --liveClasses;
  return true;
}

void EGraph::rebuild() {
  while (!toRepair.empty() || !toReconsider.empty() || !toModify.empty()) {
    restoreCongruence();
    updateAnalyses();
  }
  indexNodes();
  ++rebuilds;
  changes.clear();
}

void EGraph::restoreCongruence() {
  while (!toRepair.empty()) {
    std::vector<NodeId> batch;
    batch.swap(toRepair);
    std::ranges::sort(batch);
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
    for (NodeId node : batch)
      repair(node);
  }
}

// Operands become roots; if that makes the node equal to another, their classes are one.
void EGraph::repair(NodeId node) {
  if (!nodes[node].live)
    return;
  table.erase(hashOfNode(node), node);
  std::span<ClassId> own(operands.data() + nodes[node].firstOperand, nodes[node].operandCount);
  for (ClassId &operand : own)
    operand = sets.find(operand);
  uint64_t hash = hashOf(nodes[node].op, own);
  NodeId twin = lookUp(hash, nodes[node].op, own);
  if (twin == NodeTable::none) {
    table.insert(hash, node);
    return;
  }
  for (Analysis *analysis : analyses)
    analysis->congruent(node, twin);
  nodes[node].live = false;
  --liveNodes;
  contents[sets.find(nodes[node].owner)].changed = true;
  merge(nodes[node].owner, nodes[twin].owner);
}

void EGraph::updateAnalyses() {
  while (!toReconsider.empty()) {
    std::vector<NodeId> batch;
    batch.swap(toReconsider);
    std::ranges::sort(batch);
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
    for (NodeId node : batch) {
      if (!nodes[node].live)
        continue; // its twin is asked
      ClassId owner = sets.find(nodes[node].owner);
      for (Analysis *analysis : analyses)
        if (analysis->reconsider(*this, owner, node)) {
          toModify.push_back(owner);
          changedAt[owner] = rebuilds;
          const std::vector<NodeId> &users = contents[owner].users;
          toReconsider.insert(toReconsider.end(), users.begin(), users.end());
        }
    }
  }
  std::vector<ClassId> batch;
  batch.swap(toModify);
  for (ClassId &id : batch)
    id = sets.find(id);
  std::ranges::sort(batch);
  batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
  for (ClassId id : batch)
    for (Analysis *analysis : analyses)
      analysis->modify(*this, sets.find(id));
}

void EGraph::indexNodes() {
  roots.clear();
  nameBits.resize(contents.size());
  for (std::vector<ClassId> &classes : byName)
    classes.clear();
  auto nameOf = [&](NodeId node) { return nodes[node].name; };
  for (ClassId id = 0; id < contents.size(); ++id) {
    if (sets.find(id) != id)
      continue;
    roots.push_back(id);
    Contents &own = contents[id];
    if (own.changed) {
      std::erase_if(own.nodes, [&](NodeId node) { return !nodes[node].live; });
      std::ranges::sort(own.nodes, [&](NodeId a, NodeId b) {
        return std::pair(nameOf(a), a) < std::pair(nameOf(b), b);
      });
      std::erase_if(own.users, [&](NodeId node) { return !nodes[node].live; });
      std::ranges::sort(own.users);
      own.users.erase(std::unique(own.users.begin(), own.users.end()), own.users.end());
      nameBits[id] = 0;
      for (NodeId node : own.nodes)
        nameBits[id] |= bitOf(nameOf(node));
      own.changed = false;
    }
    for (size_t i = 0; i < own.nodes.size(); ++i) {
      Name name = nameOf(own.nodes[i]);
      if (i > 0 && nameOf(own.nodes[i - 1]) == name)
        continue;
      if (byName.size() <= name)
        byName.resize(name + 1);
      byName[name].push_back(id);
    }
  }
}

std::span<const NodeId> EGraph::nodesOf(ClassId root, Name name) const {
  if ((nameBits[root] & bitOf(name)) == 0)
    return {};
  auto nameOf = [&](NodeId node) { return nodes[node].name; };
  auto found = std::ranges::equal_range(contents[root].nodes, name, {}, nameOf);
  return {found.begin(), found.end()};
}

std::span<const ClassId> EGraph::classesWith(Name name) const {
  return name < byName.size() ? std::span<const ClassId>(byName[name]) : std::span<const ClassId>();
}

const std::vector<uint32_t> &EGraph::changedWithin(size_t levels) const {
  if (changes.empty())
    changes.push_back(changedAt);
  while (changes.size() <= levels) {
    const std::vector<uint32_t> &nearer = changes.back();
    std::vector<uint32_t> further = changedAt;
    for (ClassId id : roots)
      for (NodeId node : contents[id].nodes)
        for (ClassId operand : operandsOf(node))
          further[id] = std::max(further[id], nearer[operand]);
    changes.push_back(std::move(further));
  }
  return changes[levels];
}

} // namespace headrace::rewrite
