#include "studio/graph/Groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

namespace headrace::studio {

namespace {

/// Blocks of more nodes are not looked for, and neither are fewer than these repetitions.
constexpr size_t kMaxPeriod = 400;
constexpr size_t kMinRepetitions = 3, kMinSingleNodes = 8;
/// So many stretches of blocks are looked for in one group: each takes time.
constexpr int kMaxFolds = 12;

/// A group under construction, or a node of the program.
struct Tree {
  std::string name;
  int node = -1;
  int blocks = 0;
  std::vector<std::unique_ptr<Tree>> children;
  size_t signature = 0;

  bool isGroup() const { return node < 0; }
};

using Children = std::vector<std::unique_ptr<Tree>>;

size_t combined(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

/// What nodes have in common that compute the same on values of the same types and shapes.
std::vector<size_t> signaturesOf(const Graph &graph) {
  std::hash<std::string> hash;
  std::vector<size_t> result;
  for (const Node &node : graph.nodes)
    result.push_back(hash(node.kind));
  std::vector<size_t> results(result.size(), 0);
  for (const Edge &edge : graph.edges) {
    result[edge.to] = combined(result[edge.to], hash(edge.shape));
    results[edge.from] = hash(edge.shape); // however many users it has
  }
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = combined(result[i], results[i]);
  return result;
}

std::vector<std::string> pathOf(const std::string &name) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', begin)) {
    if (end > begin)
      parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts; // without the last part, the node's own
}

class Finder {
public:
  explicit Finder(const Graph &graph) : graph(graph), signatures(signaturesOf(graph)) {}

  Tree find() {
    Tree root;
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (isGrouped(graph.nodes[i]))
        add(root, static_cast<int>(i));
    dissolveSmall(root);
    sign(root);
    foldRepetitions(root, true);
    return root;
  }

  static bool isGrouped(const Node &node) {
    return !node.isConstant && node.kind != "input" && node.kind != "output" && node.inside < 0;
  }

private:
  void add(Tree &root, int node) {
    Tree *at = &root;
    for (const std::string &part : pathOf(graph.nodes[node].id)) {
      Tree *&next = known[at][part];
      if (!next) {
        at->children.push_back(std::make_unique<Tree>());
        next = at->children.back().get();
        next->name = part;
      }
      at = next;
    }
    auto leaf = std::make_unique<Tree>();
    leaf->node = node;
    leaf->name = graph.nodes[node].id;
    at->children.push_back(std::move(leaf));
  }

  /// A group of one child says nothing.
  static void dissolveSmall(Tree &tree) {
    for (std::unique_ptr<Tree> &child : tree.children) {
      dissolveSmall(*child);
      while (child->isGroup() && child->children.size() == 1) {
        std::unique_ptr<Tree> only = std::move(child->children.front());
        if (only->isGroup())
          only->name = child->name + "/" + only->name;
        child = std::move(only);
      }
    }
  }

  void sign(Tree &tree) {
    if (!tree.isGroup()) {
      tree.signature = signatures[tree.node];
      return;
    }
    for (const std::unique_ptr<Tree> &child : tree.children) {
      sign(*child);
      tree.signature = combined(tree.signature, child->signature);
    }
  }

  struct Run {
    size_t begin = 0, period = 0, repetitions = 0;
    size_t length() const { return period * repetitions; }
  };

  /// Equal nodes in a row are blocks only if there are many; a block of several is not made of one.
  static bool isWorthIt(const Children &children, const Run &run) {
    const auto first = children.begin() + static_cast<std::ptrdiff_t>(run.begin);
    if (run.period == 1)
      return run.repetitions >= ((*first)->isGroup() ? kMinRepetitions : kMinSingleNodes);
    auto isFirst = [&](const auto &child) { return child->signature == (*first)->signature; };
    return run.repetitions >= kMinRepetitions &&
           !std::all_of(first, first + static_cast<std::ptrdiff_t>(run.period), isFirst);
  }

  /// The longest stretch of equal blocks among the children.
  static Run longestRun(const Children &children) {
    Run best;
    size_t count = children.size();
    for (size_t period = 1; period <= std::min(kMaxPeriod, count / kMinRepetitions); ++period) {
      size_t equal = 0;
      for (size_t i = 0; i + period <= count; ++i) {
        if (i + period < count && children[i]->signature == children[i + period]->signature) {
          ++equal;
          continue;
        }
        Run run{i - equal, period, equal / period + 1};
        if (isWorthIt(children, run) && run.length() > best.length())
          best = run;
        equal = 0;
      }
    }
    return best;
  }

  /// Puts the longest runs into groups of blocks, the longest first, then looks into the groups.
  static void foldRepetitions(Tree &tree, bool isRoot) {
    for (int folds = 0; folds < kMaxFolds; ++folds) {
      Run run = longestRun(tree.children);
      if (run.period == 0)
        break;
      Children blocks = blocksOf(tree, run);
      for (std::unique_ptr<Tree> &block : blocks)
        if (block->isGroup())
          foldRepetitions(*block, false);
      if (tree.children.size() == run.length() && !isRoot) {
        tree.children = std::move(blocks);
        tree.blocks = static_cast<int>(run.repetitions);
        return;
      }
      auto folded = std::make_unique<Tree>();
      folded->name = commonName(blocks);
      folded->children = std::move(blocks);
      folded->blocks = static_cast<int>(run.repetitions);
      folded->signature = reinterpret_cast<size_t>(folded.get()); // equal to no other
      auto at = tree.children.begin() + static_cast<std::ptrdiff_t>(run.begin);
      *at = std::move(folded);
      tree.children.erase(at + 1, at + static_cast<std::ptrdiff_t>(run.length()));
    }
    for (std::unique_ptr<Tree> &child : tree.children)
      if (child->isGroup() && child->blocks == 0)
        foldRepetitions(*child, false);
  }

  /// The repetitions of a run, taken out of the tree: its children, or groups of them.
  static Children blocksOf(Tree &tree, const Run &run) {
    Children blocks;
    for (size_t r = 0; r < run.repetitions; ++r) {
      auto *at = &tree.children[run.begin + r * run.period];
      if (run.period == 1) {
        blocks.push_back(std::move(*at));
        continue;
      }
      auto made = std::make_unique<Tree>();
      made->name = "block " + std::to_string(r + 1);
      for (size_t i = 0; i < run.period; ++i)
        made->children.push_back(std::move(at[i]));
      blocks.push_back(std::move(made));
    }
    return blocks;
  }

  /// "layer" for "layer.0", "layer.1" and so on.
  static std::string commonName(const Children &blocks) {
    const std::string &first = blocks.front()->name, &last = blocks.back()->name;
    if (!blocks.front()->isGroup())
      return "nodes";
    auto [end, other] = std::ranges::mismatch(first, last);
    std::string name(first.begin(), end);
    while (!name.empty() && (name.back() == '.' || name.back() == '_' || name.back() == ' '))
      name.pop_back();
    return name.empty() ? "block" : name;
  }

  const Graph &graph;
  std::vector<size_t> signatures;
  std::map<Tree *, std::unordered_map<std::string, Tree *>> known;
};

} // namespace

Groups::Groups(const Graph &first) {
  Tree root = Finder(first).find();
  std::function<void(const Tree &, int)> number = [&](const Tree &tree, int parent) {
    int group = static_cast<int>(groups.size());
    groups.push_back({tree.name, parent, tree.blocks});
    for (const std::unique_ptr<Tree> &child : tree.children) {
      if (child->isGroup()) {
        number(*child, group);
        continue;
      }
      const Node &node = first.nodes[child->node];
      byOperator.emplace(node.id, group);
      for (const std::string &name : node.operators)
        byOperator.emplace(name, group);
    }
  };
  number(root, -1);
}

std::vector<int> Groups::of(const Graph &graph) const {
  std::vector<int> result;
  int before = 0;
  for (const Node &node : graph.nodes) {
    if (node.inside >= 0) {
      result.push_back(result[static_cast<size_t>(node.inside)]);
      continue;
    }
    if (node.kind == "input" || node.kind == "output" || node.isConstant) {
      result.push_back(0);
      continue;
    }
    auto found = byOperator.find(node.id);
    // A kernel's name begins with that of the operator around which it is built.
    for (size_t end = node.id.rfind('/'); found == byOperator.end() && end != std::string::npos;
         end = end == 0 ? std::string::npos : node.id.rfind('/', end - 1))
      found = byOperator.find(node.id.substr(0, end));
    for (const std::string &name : node.operators)
      if (found == byOperator.end())
        found = byOperator.find(name);
    if (found != byOperator.end())
      before = found->second;
    result.push_back(before);
  }
  return result;
}

} // namespace headrace::studio
