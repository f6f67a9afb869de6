// A graph that runs in parts. Nodes that can be compiled with what is known run together, as one
// program: a region. A node that needs the value of something waits until that is computed, and is
// compiled for it. Operators of the host (runtime/operators) run between regions. Graphs inside of
// nodes are graphs of the same kind.
#pragma once

#include "adaptive/Executor.h"
#include "adaptive/NodeSet.h"
#include "adaptive/VersionStore.h"
#include <atomic>
#include <map>

namespace headrace::adaptive {

class Graph;

struct GraphNode {
  operators::HostNode node;      // name, operator, attributes
  std::vector<int> inputs = {};  // values by number, -1 for an omitted one
  std::vector<int> reads = {};   // inputs, and what graphs inside take from this one; each once
  std::vector<int> outputs = {}; // -1 for one that nobody asks for
  operators::HostFunction host = nullptr;             // null if only compiled code computes it
  std::shared_ptr<operators::Prepared> prepared = {}; // what `host` keeps between calls
  bool isHostAlways = false; // else on values that are not numeric tensors, and if it is changing
  std::optional<size_t> parametersFrom = {};                 // HostOperator's
  std::map<std::string, std::shared_ptr<Graph>> bodies = {}; // by attribute
  size_t origin = 0; // the number of the node for the front end that wrote the graph
};

/// One run of a graph and of those inside.
struct GraphCall {
  Executor &executor;
  /// How many more times bodies of loops may run: against loops without end.
  int64_t iterationsLeft;
};

class RegionSource;

/// What is known of a graph before a run with inputs of some sizes.
struct Preview {
  std::vector<std::shared_ptr<const Region>> regions; // with those of the graphs inside
  /// A node whose code or results depend on data, or a graph inside of it that fails for these
  /// sizes.
  struct Waiting {
    std::string node, reason;
  };
  std::vector<Waiting> waiting;
  size_t followers = 0; // nodes that read results of those
};

class Graph {
public:
  struct Frame;

  /// `model` is for messages. Keeps at most `versionsPerPlace` regions that begin after the same
  /// nodes.
  Graph(std::string model, size_t versionsPerPlace);
  Graph(const Graph &) = delete;

  // Written by a front end or a package before the first run.
  std::string model, name;
  std::vector<std::string> names;      // of values, by number
  std::vector<RuntimeValue> constants; // by value; nothing if the value is not a constant
  std::vector<int> inputs, outputs;    // values
  /// Values of the graph around that nodes here read: their numbers here and there.
  std::vector<std::pair<int, int>> captures;
  std::vector<GraphNode> nodes;   // in an order in which they can run
  RegionSource *source = nullptr; // null: there are no other regions than those added

  /// Drops nodes that nobody reads; to be called after a change of nodes or outputs.
  void dropUnneeded();
  /// How often values are read, by number.
  const std::vector<int> &useCounts() const { return uses; }

  /// The graph's outputs. `outer` holds the values of the graph around. Where `wanted` says no, an
  /// output is nothing if only nodes of the host are needed for it alone; those do not run.
  std::vector<RuntimeValue> run(std::span<const RuntimeValue> inputs, const Frame *outer,
                                GraphCall &call, const std::vector<bool> &wanted = {});

  /// The regions of a run with these inputs, as far as no value is needed that only the run
  /// computes. Of an input only type and sizes count; nothing stands for one without. The executor
  /// gives results of the right sizes. Throws Error; what was found so far is in `preview`.
  void addPreview(std::span<const RuntimeValue> inputs, const Frame *outer, GraphCall &call,
                  Preview &preview);

  /// Adds a region for runs in which these nodes ran before.
  void addRegion(const NodeSet &done, std::shared_ptr<const Region> region);
  /// The regions that are kept now, here and in the graphs inside.
  std::vector<std::shared_ptr<const Region>> regions() const;
  /// The regions of this graph alone, with the nodes that ran before.
  std::vector<std::pair<NodeSet, std::shared_ptr<const Region>>> ownRegions() const;

  /// Whether the node runs on the host from now on, because its parameters keep changing.
  bool isChanging(size_t node) const { return changing[node]; }
  void setChanging(size_t node) { changing[node] = true; }
  /// The region's nodes for messages: "node 'Conv_1' (Conv) and 12 more nodes".
  std::string describe(const Region &region) const;
  /// The number of a value; -1 if there is none of that name.
  int find(const std::string &value) const;

private:
  void runHostNodes(Frame &frame, GraphCall &call);
  void runOnHost(size_t node, Frame &frame, GraphCall &call);
  void runRegion(Frame &frame, GraphCall &call);
  void setCaptures(Frame &frame) const;
  std::shared_ptr<const Region> regionFor(const Frame &frame);
  std::shared_ptr<const Region> findRegion(const Frame &frame);
  bool runsOnHost(size_t node, const Frame &frame) const;
  bool moveToHost(const Frame &frame, const Region &last);
  std::vector<bool> unneededNodes(const std::vector<bool> &wanted) const;
  [[noreturn]] void failWithoutRegion(const Frame &frame) const;

  std::vector<int> uses;
  std::vector<std::atomic<bool>> changing; // by node
  VersionStore<NodeSet, const Region> versions;
  LongLock buildLock;
};

/// The values of a run so far.
struct Graph::Frame {
  const Graph &graph;
  const Frame *outer;
  std::vector<std::optional<RuntimeValue>> values;
  std::vector<int> usesLeft;
  NodeSet done;
  // Where not all outputs are wanted: nodes for the others alone, and values not computed for that.
  std::vector<bool> unneeded = {}, skipped = {};
  // In a preview: values of which only type and sizes are known, and nodes by what they need.
  std::vector<bool> onlySizes = {};
  std::map<size_t, int> *waiting = nullptr;

  /// Whether the elements of a value are known, too.
  bool isKnown(int value) const { return has(value) && (onlySizes.empty() || !onlySizes[value]); }

  /// Null if it is not computed yet.
  const RuntimeValue *at(int value) const {
    if (values[value])
      return &*values[value];
    return graph.constants[value].isNothing() ? nullptr : &graph.constants[value];
  }
  bool has(int value) const { return at(value) != nullptr; }
  /// The numeric tensor of a value; null if it is not known, or is of another type.
  const Tensor *tensor(int value) const {
    const RuntimeValue *found = at(value);
    return found ? found->tensor() : nullptr;
  }
  /// The inputs of a region; all of them must be computed.
  std::vector<Tensor> inputsOf(const Region &region) const;
  void finish(size_t node);
  /// Whether the host need not run a node that could run now, or that reads what was skipped.
  bool skips(size_t node, bool couldRun) const;
};

/// Makes regions as runs need them: the compiler. Without it a graph has those that were added.
class RegionSource {
public:
  virtual ~RegionSource() = default;
  /// The region of the nodes that can be computed next; null if there is none, which happens in a
  /// preview only. Sizes and values that differ from those
  /// that `similar` was made for (null: there is none) stay dynamic, as far as the nodes can do
  /// with that. Throws Error.
  virtual std::shared_ptr<const Region> make(const Graph::Frame &frame, const Region *similar) = 0;
};

} // namespace headrace::adaptive
