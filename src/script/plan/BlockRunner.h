#pragma once

#include "adaptive/VersionStore.h"
#include "script/language/Program.h"
#include "script/plan/BlockPlan.h"
#include "script/plan/PlanSignature.h"
#include "script/plan/ScriptSettings.h"
#include "script/plan/Statistics.h"

namespace headrace::script {

/// The loop that a block is executed in.
struct LoopState {
  bool inside = false;
  /// What the innermost loop writes; null in a function that it calls.
  const std::set<std::string> *written = nullptr;
};

/// Runs basic blocks: finds or makes the plan for the current values, and follows it. If the sizes
/// of later statements depend on results of earlier ones, a block is run in parts, each planned
/// when its sizes are known.
class BlockRunner {
public:
  BlockRunner(const ScriptSettings &settings, Statistics &statistics);

  void run(const BasicBlock &block, Environment &variables, HostContext &context,
           const LoopState &loop);

  /// Forgets the values that were kept for further iterations.
  void endLoops();

private:
  /// The statements of a block from one on.
  struct Part {
    size_t number;
    SignatureState signatures;
    bool planned = false;
  };

  size_t runPart(const BasicBlock &block, size_t first, Environment &variables,
                 HostContext &context, const LoopState &loop);
  bool findInvariants(const std::shared_ptr<BlockPlan> &plan, const BasicBlock &block, size_t first,
                      Part &part, PlanSignature &signature, const Environment &variables,
                      const LoopState &loop);
  void runParts(InvariantParts &parts, const BasicBlock &block, bool last,
                std::span<const int64_t> symbols, Environment &variables, HostContext &context);
  BlockPlan makePlan(const BasicBlock &block, size_t first, Part &part, PlanSignature &signature,
                     const Environment &variables, const std::set<std::string> &invariant = {});
  void prepare(BlockPlan &plan, std::span<const int64_t> symbols);
  /// `kept`: inputs of the plan that are not variables.
  void follow(BlockPlan &plan, const BasicBlock &block, bool last, std::span<const int64_t> symbols,
              Environment &variables, Environment &results, HostContext &context,
              const Environment &kept = {});
  void runSegment(BlockPlan &plan, const PlanStep &step, std::span<const int64_t> symbols,
                  std::vector<Value> &values);
  void runCode(BlockPlan::Compiled &compiled, const Dag &dag, std::span<const int64_t> symbols,
               std::vector<Value> &values);
  void runOnHost(const BlockPlan &plan, const Segment &segment, std::span<const int64_t> symbols,
                 std::vector<Value> &values, HostContext &context);
  double runNode(const BlockPlan &plan, const PlanStep &step, std::span<const int64_t> symbols,
                 std::vector<Value> &values, HostContext &context);

  const ScriptSettings &settings;
  Statistics &statistics;
  std::map<std::pair<const BasicBlock *, size_t>, Part> parts;
  /// The estimated time of compiling a segment: a guess at first, then the time it took lately.
  double compileNanoseconds = 100e6;
  /// The plans of all blocks, by the numbers of their parts and what they hold for.
  adaptive::VersionStore<std::pair<size_t, std::vector<int64_t>>, BlockPlan> plans;
  /// Plans that keep values for further iterations.
  std::vector<std::shared_ptr<BlockPlan>> plansWithParts;
};

} // namespace headrace::script
