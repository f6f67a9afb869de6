#include "studio/layout/ProgramLayout.h"

#include <algorithm>
#include <unordered_map>

namespace headrace::studio {

namespace {

constexpr double kCharacterWidth = 6.6, kMaxLabel = 26;

/// The width of a box, which shows the last part of the name.
double widthOf(const std::string &name) {
  size_t slash = name.rfind('/');
  size_t length = name.size() - (slash == std::string::npos ? 0 : slash + 1);
  return 34 + kCharacterWidth * std::clamp(static_cast<double>(length), 5.0, kMaxLabel);
}

class Builder {
public:
  Builder(const Graph &graph, const Groups &groups, const Places &known)
      : graph(graph), groups(groups), known(known) {}

  ProgramLayout build() {
    addFrames();
    addKernels();
    addItems();
    addLinks();
    for (size_t f = layout.frames.size(); f-- > 1;)
      layout.frames[layout.frames[f].parent].nodes += layout.frames[f].nodes;
    findPaths();
    collectHints();
    for (size_t f = 0; f < layout.frames.size(); ++f)
      place(static_cast<int>(f));
    return std::move(layout);
  }

private:
  /// One for each group that holds a node in this phase.
  void addFrames() {
    groupOf = groups.of(graph);
    leaveLonelyGroups();
    std::vector<char> isUsed(groups.all().size(), 0);
    isUsed[0] = 1;
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      if (!graph.nodes[n].isConstant)
        for (int g = groupOf[n]; g >= 0 && !isUsed[g]; g = groups.all()[g].parent)
          isUsed[g] = 1;
    frameOf.assign(groups.all().size(), -1);
    for (size_t g = 0; g < groups.all().size(); ++g) {
      if (!isUsed[g])
        continue;
      const Group &group = groups.all()[g];
      frameOf[g] = static_cast<int>(layout.frames.size());
      Frame &frame = layout.frames.emplace_back();
      frame.name = group.name;
      frame.parent = group.parent < 0 ? -1 : frameOf[group.parent];
      frame.blocks = group.blocks;
    }
  }

  /// A group that holds a single node in this phase says nothing: the node goes to the group
  /// around.
  void leaveLonelyGroups() {
    std::vector<int> nodes(groups.all().size(), 0);
    auto isCounted = [&](size_t n) {
      return !graph.nodes[n].isConstant && graph.nodes[n].inside < 0;
    };
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      if (isCounted(n))
        for (int g = groupOf[n]; g >= 0; g = groups.all()[g].parent)
          ++nodes[g];
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      while (groupOf[n] > 0 && nodes[groupOf[n]] < 2)
        groupOf[n] = groups.all()[groupOf[n]].parent;
  }

  /// A kernel with several stages is a frame.
  void addKernels() {
    std::unordered_map<int, int> stages;
    for (const Node &node : graph.nodes)
      if (node.inside >= 0)
        ++stages[node.inside];
    kernelFrame.assign(graph.nodes.size(), -1);
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      if (auto found = stages.find(static_cast<int>(n)); found != stages.end()) {
        kernelFrame[n] = static_cast<int>(layout.frames.size());
        Frame &frame = layout.frames.emplace_back();
        frame.name = graph.nodes[n].id;
        frame.parent = frameOf[groupOf[n]];
        frame.kernel = static_cast<int>(n);
      }
  }

  int frameHolding(int node) const {
    const Node &it = graph.nodes[node];
    return it.inside >= 0 ? kernelFrame[it.inside] : frameOf[groupOf[node]];
  }

  /// Items stand in program order: a frame where its first node does.
  void addItems() {
    itemOfFrame.assign(layout.frames.size(), -1);
    itemOfNode.assign(graph.nodes.size(), -1);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].isConstant)
        continue;
      int node = static_cast<int>(n), holder = frameHolding(node);
      open(holder);
      ++layout.frames[holder].nodes;
      if (kernelFrame[n] >= 0) {
        open(kernelFrame[n]);
        itemOfNode[n] = itemOfFrame[kernelFrame[n]];
        continue;
      }
      itemOfNode[n] = static_cast<int>(layout.frames[holder].items.size());
      layout.frames[holder].items.push_back({node, -1});
    }
  }

  void open(int frame) {
    if (layout.frames[frame].parent < 0 || itemOfFrame[frame] >= 0)
      return;
    int parent = layout.frames[frame].parent;
    open(parent);
    itemOfFrame[frame] = static_cast<int>(layout.frames[parent].items.size());
    layout.frames[parent].items.push_back({-1, frame});
  }

  /// The frames around a node, from the outermost to the one that holds it, and its item in each.
  std::vector<std::pair<int, int>> chainOf(int node) const {
    std::vector<std::pair<int, int>> chain;
    int item = itemOfNode[node];
    for (int frame = frameHolding(node); frame >= 0; frame = layout.frames[frame].parent) {
      chain.emplace_back(frame, item);
      item = itemOfFrame[frame];
    }
    std::ranges::reverse(chain);
    return chain;
  }

  /// Each edge is a link in the innermost frame that holds both ends, and enters or leaves the
  /// frames below.
  void addLinks() {
    std::vector<std::unordered_map<int64_t, int>> linkOf(layout.frames.size());
    std::vector<std::unordered_map<int, int64_t>> enters(layout.frames.size()),
        leaves(layout.frames.size());
    for (size_t e = 0; e < graph.edges.size(); ++e) {
      const Edge &edge = graph.edges[e];
      if (graph.nodes[edge.from].isConstant || graph.nodes[edge.to].isConstant)
        continue;
      auto from = chainOf(edge.from), to = chainOf(edge.to);
      size_t depth = 0;
      while (depth + 1 < std::min(from.size(), to.size()) && from[depth] == to[depth])
        ++depth;
      auto [frame, fromItem] = from[depth];
      if (int toItem = to[depth].second; fromItem != toItem) {
        int64_t key = (static_cast<int64_t>(fromItem) << 32) | toItem;
        std::vector<Frame::Link> &links = layout.frames[frame].links;
        auto [found, isNew] = linkOf[frame].emplace(key, static_cast<int>(links.size()));
        if (isNew)
          links.push_back({fromItem, toItem, 0, {}});
        links[found->second].bytes += edge.bytes;
        links[found->second].edges.push_back(static_cast<int>(e));
      }
      for (size_t d = depth + 1; d < from.size(); ++d)
        leaves[from[d].first][from[d].second] += edge.bytes;
      for (size_t d = depth + 1; d < to.size(); ++d)
        enters[to[d].first][to[d].second] += edge.bytes;
    }
    for (size_t f = 0; f < layout.frames.size(); ++f) {
      auto sorted = [](const std::unordered_map<int, int64_t> &ports) {
        std::vector<std::pair<int, int64_t>> result(ports.begin(), ports.end());
        std::ranges::sort(result);
        return result;
      };
      layout.frames[f].enters = sorted(enters[f]);
      layout.frames[f].leaves = sorted(leaves[f]);
    }
  }

  void findPaths() {
    for (const Frame &frame : layout.frames)
      paths.push_back(frame.parent < 0 ? "" : paths[frame.parent] + "/" + frame.name);
  }

  /// Where the operators of each item were in the same frame: the highest row, the mean of x.
  void collectHints() {
    if (known.empty())
      return;
    struct Sum {
      double x = 0;
      int row = 0, count = 0;
    };
    std::vector<std::vector<Sum>> sums(layout.frames.size());
    for (size_t f = 0; f < layout.frames.size(); ++f)
      sums[f].resize(layout.frames[f].items.size());
    auto take = [&](int frame, int item, const std::string &name) {
      auto found = known.find({paths[frame], name});
      if (found == known.end())
        return;
      Sum &sum = sums[frame][item];
      sum.x += found->second.x;
      sum.row = std::max(sum.row, found->second.row);
      ++sum.count;
    };
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node &node = graph.nodes[n];
      if (node.isConstant || node.inside >= 0)
        continue;
      for (auto [frame, item] : chainOf(static_cast<int>(n))) {
        if (node.operators.empty())
          take(frame, item, node.id);
        for (const std::string &name : node.operators)
          take(frame, item, name);
      }
    }
    hints.resize(layout.frames.size());
    for (size_t f = 0; f < layout.frames.size(); ++f)
      for (const Sum &sum : sums[f])
        hints[f].push_back(sum.count ? std::optional(PlaceHint{sum.row, sum.x / sum.count})
                                     : std::nullopt);
  }

  void place(int f) {
    Frame &frame = layout.frames[f];
    std::vector<LayeredItem> items;
    for (size_t i = 0; i < frame.items.size(); ++i) {
      const Frame::Item &item = frame.items[i];
      LayeredItem box;
      box.width = item.node >= 0 ? widthOf(graph.nodes[item.node].id)
                                 : widthOf(layout.frames[item.frame].name) +
                                       (layout.frames[item.frame].blocks > 0 ? 64 : 24);
      if (!hints.empty())
        box.hint = hints[f][i];
      items.push_back(box);
    }
    std::vector<LayeredEdge> edges;
    for (const Frame::Link &link : frame.links)
      edges.push_back({link.from, link.to});
    frame.layout = layOut(items, edges);
  }

  const Graph &graph;
  const Groups &groups;
  const Places &known;
  ProgramLayout layout;
  std::vector<int> groupOf, frameOf, kernelFrame, itemOfFrame, itemOfNode;
  std::vector<std::string> paths;
  std::vector<std::vector<std::optional<PlaceHint>>> hints; // by frame and item
};

} // namespace

ProgramLayout layOutProgram(const Graph &graph, const Groups &groups, const Places &known) {
  return Builder(graph, groups, known).build();
}

Places placesOf(const ProgramLayout &layout, const Graph &graph) {
  Places places;
  std::vector<std::string> paths;
  std::vector<int> item(layout.frames.size(), -1);
  for (size_t f = 0; f < layout.frames.size(); ++f) {
    const Frame &frame = layout.frames[f];
    paths.push_back(frame.parent < 0 ? "" : paths[frame.parent] + "/" + frame.name);
    for (size_t i = 0; i < frame.items.size(); ++i)
      if (frame.items[i].frame >= 0)
        item[frame.items[i].frame] = static_cast<int>(i);
  }
  auto note = [&](int f, int i, const std::string &name) {
    const RowPlace &place = layout.frames[f].layout.places[i];
    places.emplace(std::pair(paths[f], name), PlaceHint{place.row, place.x});
  };
  auto noteNode = [&](int f, int i, int n) {
    const Node &node = graph.nodes[n];
    for (int frame = f, at = i; frame >= 0; at = item[frame], frame = layout.frames[frame].parent) {
      note(frame, at, node.id);
      for (const std::string &name : node.operators)
        note(frame, at, name);
    }
  };
  for (size_t f = 0; f < layout.frames.size(); ++f)
    for (size_t i = 0; i < layout.frames[f].items.size(); ++i) {
      const Frame::Item &each = layout.frames[f].items[i];
      if (each.node >= 0)
        noteNode(static_cast<int>(f), static_cast<int>(i), each.node);
      else if (int kernel = layout.frames[each.frame].kernel; kernel >= 0)
        noteNode(static_cast<int>(f), static_cast<int>(i), kernel);
    }
  return places;
}

} // namespace headrace::studio
