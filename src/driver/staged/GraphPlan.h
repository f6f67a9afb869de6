// A graph that is run in stages. Nodes whose import needs nothing but what is known are compiled
// together, as one program; a node that needs the value of something waits until that is computed,
// and is compiled for it. Host operators (runtime/operators) run between those programs. Graphs
// inside of nodes are plans themselves.
#pragma once

#include "driver/staged/HostNodes.h"
#include "driver/staged/Stage.h"
#include "driver/staged/StagedModel.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/value/RuntimeValue.h"

#include <atomic>
#include <list>
#include <map>
#include <span>
#include <unordered_map>

namespace headrace::staged {

struct PlannedNode {
  const onnx::Node *node;
  std::vector<int> inputs;  // values by number, -1 for an omitted one
  std::vector<int> reads;   // inputs, and what graphs inside take from this one; each once
  std::vector<int> outputs; // -1 for one that nobody asks for
  operators::HostFunction host = nullptr;        // null if only compiled code computes it
  operators::HostNode hostNode;                  // the node as `host` takes it
  std::unique_ptr<operators::Prepared> prepared; // what `host` keeps between calls
  bool isHostAlways = false; // else on values that are not numeric tensors, and if `isChanging`
  std::optional<size_t> parametersFrom;                     // HostOperator's
  std::map<std::string, std::unique_ptr<GraphPlan>> bodies; // by attribute
};

class GraphPlan {
public:
  /// `outer` is the graph around, null for the model's. Throws Error if an operator is not
  /// supported or a value is not defined.
  GraphPlan(const onnx::Graph &graph, const StagedModel &model, const GraphPlan *outer);
  GraphPlan(const GraphPlan &) = delete;

  /// The values of a run so far.
  struct Frame;

  /// The graph's outputs. `outer` holds the values of the graph around. If `wanted` says no, an
  /// output is nothing if only nodes of the host are needed for it alone; those do not run.
  std::vector<RuntimeValue> run(std::span<const RuntimeValue> inputs, const Frame *outer,
                                Call &call, const std::vector<bool> &wanted = {});

  const onnx::Graph &graph() const { return source; }
  /// The nodes that are compiled, and those that always run on the host, here and in the graphs
  /// inside.
  using NodeList = std::vector<const onnx::Node *>;
  std::pair<NodeList, NodeList> nodesByPlace() const;
  /// Programs that are kept now, here and in the graphs inside.
  std::vector<std::shared_ptr<const Stage>> stages() const;

private:
  friend class StageBuilder;
  using Done = std::vector<bool>; // by node

  int idOf(const std::string &name);
  int definedId(const std::string &name, const std::string &reader) const;
  void addConstants();
  void addNodes();
  void dropUnneeded();
  void computeConstantNodes();
  void checkOperators() const;
  PlannedNode planned(const onnx::Node &node);

  void runHostNodes(Frame &frame, Call &call);
  void runOnHost(size_t node, Frame &frame, Call &call);
  void runStage(Frame &frame, Call &call);
  std::shared_ptr<const Stage> stageFor(const Frame &frame);
  std::shared_ptr<const Stage> findStage(const Frame &frame);
  bool runsOnHost(size_t node, const Frame &frame) const;
  bool moveToHost(const Frame &frame, const Stage &last);
  Done unneededNodes(const std::vector<bool> &wanted) const;

  const onnx::Graph &source;
  const StagedModel &model;
  const GraphPlan *outer;
  std::vector<std::string> names; // of values, by number
  std::unordered_map<std::string, int> ids;
  std::vector<RuntimeValue> constants; // by value; nothing if the value is not a constant
  std::vector<int> inputs, outputs, captures;
  std::vector<PlannedNode> nodes; // in an order in which they can run
  std::vector<int> useCounts;     // by value
  /// Nodes that run on the host because their parameters kept changing.
  std::vector<std::atomic<bool>> isChanging;

  /// The programs made so far, by the nodes that ran before; most recently used first.
  std::map<Done, std::list<std::shared_ptr<const Stage>>> cache;
  mutable ForkSafeMutex cacheMutex;
  LongLock buildLock;
};

struct GraphPlan::Frame {
  const GraphPlan &plan;
  const Frame *outer;
  std::vector<std::optional<RuntimeValue>> values;
  std::vector<int> usesLeft;
  Done done;
  // If not all outputs are requested: nodes for the others alone, and values not computed for that.
  Done unneeded = {};
  std::vector<bool> skipped = {};

  /// Null if it is not computed yet.
  const RuntimeValue *at(int value) const {
    if (values[value])
      return &*values[value];
    return plan.constants[value].isNothing() ? nullptr : &plan.constants[value];
  }
  bool has(int value) const { return at(value) != nullptr; }
  /// The numeric tensor of a value; null if it is not known, or is of another type.
  const Tensor *tensor(int value) const {
    const RuntimeValue *found = at(value);
    return found ? found->tensor() : nullptr;
  }
  /// The inputs of a stage; all of them must be computed.
  std::vector<Tensor> inputsOf(const Stage &stage) const;
  /// Null if nothing of that name is computed, here or around.
  const RuntimeValue *find(const std::string &name) const;
  void finish(size_t node);
  /// Whether the host need not run a node that could run now, or that reads what was skipped.
  bool skips(size_t node, bool couldRun) const;
};

} // namespace headrace::staged
