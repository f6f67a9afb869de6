#pragma once

#include "script/host/HostOperations.h"
#include "script/plan/SegmentSource.h"

namespace headrace::script {

struct PlanOperands;
struct InvariantParts;

/// One thing to do: a node on the host, or a compiled segment.
struct PlanStep {
  int node = -1, segment = -1;
  /// The node could be compiled.
  bool compilable = false;
  /// Nodes whose values are dead afterwards.
  std::vector<int> lastUses;
};

/// How a block, or a part of it, is computed for operands of certain kinds and sizes.
struct BlockPlan {
  Dag dag;
  /// Variables and the nodes that are their values from here on.
  std::vector<std::pair<std::string, int>> results;
  std::vector<PlanStep> steps;

  /// Compiled if `steps` mention them; see Partition.h.
  struct Compiled {
    Segment segment;
    std::shared_ptr<adaptive::RegionCode> code;   ///< null: computed on the host
    std::shared_ptr<const Executable> executable; ///< what ran last
  };
  std::vector<Compiled> segments;
  bool partitioned = false;

  /// Host time of the nodes that could be compiled: predicted of one run, and of all runs so far,
  /// as predicted or, if it was longer, as measured.
  double hostNanoseconds = 0, spentNanoseconds = 0;

  /// See LoopInvariants.h. Of plans of loops' bodies: what the last run computed from, and the plan
  /// in two parts if that pays.
  std::shared_ptr<PlanOperands> lastOperands;
  std::shared_ptr<InvariantParts> parts;
  int splits = 0; ///< how often splitting was tried
};

} // namespace headrace::script
