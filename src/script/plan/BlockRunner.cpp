#include "script/plan/BlockRunner.h"

#include "runtime/system/AvailableMemory.h"
#include "runtime/system/Interruption.h"

#include "script/graph/DagBuilder.h"
#include "script/plan/FreeVariables.h"
#include "script/plan/LoopInvariants.h"
#include "script/plan/Partition.h"
#include "script/plan/PlanText.h"
#include "script/plan/SparsePlan.h"
#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace headrace::script {

// A longer block is planned in parts: what looks at all pairs, and what the compiler is given at
// once, stays small.
static constexpr size_t kMaxStatements = 1000;

namespace {
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

private:
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};
} // namespace

BlockRunner::BlockRunner(const ScriptSettings &settings, Statistics &statistics)
    : settings(settings), statistics(statistics), plans(settings.planCacheSize) {}

void BlockRunner::run(const BasicBlock &block, Environment &variables, HostContext &context,
                      const LoopState &loop) {
  ++statistics.blocks;
  for (size_t done = 0; done < block.statements.size();)
    done += runPart(block, done, variables, context, loop);
}

void BlockRunner::endLoops() {
  for (const auto &plan : plansWithParts)
    if (plan->parts)
      plan->parts->kept.clear();
  plansWithParts.clear();
}

size_t BlockRunner::runPart(const BasicBlock &block, size_t first, Environment &variables,
                            HostContext &context, const LoopState &loop) {
  auto at = parts.find({&block, first});
  if (at == parts.end())
    at = parts
             .emplace(std::pair(&block, first),
                      Part{parts.size(),
                           SignatureState(freeVariables(block.statements, first, kMaxStatements),
                                          settings.sizes)})
             .first;
  Part &part = at->second;
  PlanSignature signature = part.signatures.describe(variables);
  std::shared_ptr<BlockPlan> plan = plans.find({part.number, signature.signature.key()});
  if (!plan) {
    Stopwatch watch;
    plan = std::make_shared<BlockPlan>(makePlan(block, first, part, signature, variables));
    ++statistics.plans;
    statistics.recompilations += part.planned || first > 0;
    part.planned = true;
    statistics.planSeconds += watch.seconds();
    plans.add({part.number, signature.signature.key()}, plan);
  } else {
    ++statistics.cacheHits;
  }
  size_t statements = plan->dag.statements;
  bool last = first + statements == block.statements.size();
  if (loop.inside && settings.findInvariants &&
      findInvariants(plan, block, first, part, signature, variables, loop)) {
    runParts(*plan->parts, block, last, signature.symbols(), variables, context);
    return statements;
  }
  prepare(*plan, signature.symbols());
  follow(*plan, block, last, signature.symbols(), variables, variables, context);
  return statements;
}

/// Whether the plan has parts now: operations whose operands are the same in every iteration, since
/// the loop does not write them, or were the same in the last one.
bool BlockRunner::findInvariants(const std::shared_ptr<BlockPlan> &plan, const BasicBlock &block,
                                 size_t first, Part &part, PlanSignature &signature,
                                 const Environment &variables, const LoopState &loop) {
  // Operands that differ in a few iterations may be equal in the next ones: other loops.
  constexpr int kMaxSplits = 4, kMaxMisses = 8;
  if (!plan->parts && plan->splits >= kMaxSplits)
    return false;
  PlanOperands now = planOperands(plan->dag, signature.symbols(), variables);
  if (!plan->parts) {
    if (plan->lastOperands || loop.written) {
      Stopwatch watch;
      std::set<std::string> same;
      if (plan->lastOperands)
        same = now.sameAs(*plan->lastOperands);
      else
        for (const auto &[name, value] : now.inputs)
          if (!loop.written->contains(name))
            same.insert(name);
      bool all = settings.compile == CompileWhen::Always;
      // Products are associated anew, since some of them are computed once now.
      if (!same.empty())
        plan->parts = splitInvariants(makePlan(block, first, part, signature, variables, same),
                                      same, signature.symbols(), all ? Worth::All : Worth::Large);
      ++plan->splits;
      statistics.planSeconds += watch.seconds();
      if (plan->parts && settings.explainRuntime)
        settings.explain(invariantsText(*plan->parts, block, first, signature.symbols()));
    }
    plan->lastOperands = std::make_shared<PlanOperands>(now);
  }
  if (!plan->parts)
    return false;
  bool isHit = isKept(*plan->parts, now);
  plan->parts->misses = isHit ? 0 : plan->parts->misses + 1;
  if (plan->parts->misses > kMaxMisses) {
    plan->parts = nullptr;
    return false;
  }
  if (!isHit)
    plan->parts->kept.clear();
  plan->parts->operands = std::move(now);
  if (std::ranges::find(plansWithParts, plan) == plansWithParts.end())
    plansWithParts.push_back(plan);
  return true;
}

void BlockRunner::runParts(InvariantParts &parts, const BasicBlock &block, bool last,
                           std::span<const int64_t> symbols, Environment &variables,
                           HostContext &context) {
  if (parts.kept.empty()) {
    Stopwatch watch;
    prepare(parts.once, symbols);
    follow(parts.once, block, false, symbols, variables, parts.kept, context);
    parts.onceSeconds = watch.seconds();
  } else {
    ++statistics.reused;
    statistics.reusedSeconds += parts.onceSeconds;
  }
  prepare(parts.rest, symbols);
  follow(parts.rest, block, last, symbols, variables, variables, context, parts.kept);
}

BlockPlan BlockRunner::makePlan(const BasicBlock &block, size_t first, Part &part,
                                PlanSignature &signature, const Environment &variables,
                                const std::set<std::string> &invariant) {
  BlockPlan plan;
  while (true) {
    DagOptions options;
    const auto &names = part.signatures.variables();
    std::unordered_map<std::string_view, size_t> position;
    for (size_t i = 0; i < names.size(); ++i)
      position[names[i]] = i;
    options.variable = [&](const std::string &name) -> const Known * {
      auto found = position.find(name);
      bool there = found != position.end() && !signature.missing[found->second];
      return there ? &signature.known[found->second] : nullptr;
    };
    options.symbols = signature.symbols();
    options.maxStatements = kMaxStatements;
    options.executes = executes;
    options.invariant = invariant;
    plan.dag = buildDag(block.statements, first, options);
    bool learned = false;
    for (const std::string &name : plan.dag.wantedSizes)
      learned |= part.signatures.addSizeScalar(name);
    if (!learned)
      break;
    signature = part.signatures.describe(variables);
  }
  bool last = first + plan.dag.statements == block.statements.size();
  for (const auto &[name, node] : plan.dag.assigned)
    if (!last || std::ranges::binary_search(block.outputs, name))
      plan.results.push_back({name, node});
  exploitSparsity(plan.dag, plan.results, signature.symbols());
  planOnHost(plan, signature.symbols());
  if (!invariant.empty())
    return plan;
  if (settings.explainGraphs)
    settings.explain(graphText(plan, block, first, signature.symbols()));
  if (settings.explainRuntime && settings.compile != CompileWhen::Always &&
      plan.hostNanoseconds < compileNanoseconds)
    settings.explain(hostText(plan, block, first, signature.symbols()));
  return plan;
}

/// Compiles what is worth it by now.
void BlockRunner::prepare(BlockPlan &plan, std::span<const int64_t> symbols) {
  plan.spentNanoseconds += plan.hostNanoseconds;
  bool wanted =
      settings.compile == CompileWhen::Always ||
      (settings.compile == CompileWhen::Worthwhile && plan.spentNanoseconds >= compileNanoseconds);
  if (plan.partitioned || !wanted || !settings.code)
    return;
  Stopwatch watch;
  planSegments(plan, symbols, settings.compile == CompileWhen::Always ? Worth::All : Worth::Large);
  for (auto &compiled : plan.segments) {
    compiled.code = settings.code->find(plan.dag, compiled.segment);
    statistics.compilations += compiled.code != nullptr;
  }
  statistics.compileSeconds += watch.seconds();
  if (settings.explainRuntime)
    settings.explain(runtimeText(plan, symbols, settings.explainPlanning));
}

void BlockRunner::follow(BlockPlan &plan, const BasicBlock &block, bool last,
                         std::span<const int64_t> symbols, Environment &variables,
                         Environment &results, HostContext &context, const Environment &kept) {
  std::vector<Value> values(plan.dag.nodes.size());
  for (size_t i = 0; i < plan.dag.nodes.size(); ++i) {
    const Node &node = plan.dag.nodes[i];
    if (node.op != Op::Input)
      continue;
    auto found = variables.find(node.name);
    if (found == variables.end()) {
      if (auto value = kept.find(node.name); value != kept.end())
        values[i] = value->second;
      continue;
    }
    // A variable that is written here, or read here for the last time, may be overwritten in place.
    bool dies = plan.dag.assigned.contains(node.name) ||
                (last && std::ranges::binary_search(block.lastUses, node.name));
    values[i] = dies ? std::move(found->second) : found->second;
    if (dies)
      variables.erase(found);
  }
  double nanoseconds = 0;
  for (const PlanStep &step : plan.steps) {
    pollInterruption();
    if (step.segment < 0)
      nanoseconds += (step.compilable ? 1e9 : 0) * runNode(plan, step, symbols, values, context);
    else if (plan.segments[step.segment].code)
      runSegment(plan, step, symbols, values);
    else
      runOnHost(plan, plan.segments[step.segment].segment, symbols, values, context);
    for (int node : step.lastUses)
      values[node] = {};
  }
  plan.spentNanoseconds += std::max(nanoseconds - plan.hostNanoseconds, 0.0);
  for (const auto &[name, node] : plan.results) {
    const Node &result = plan.dag.nodes[node];
    results[name] = result.op == Op::Literal ? Value::of(result.literal) : values[node];
  }
}

void BlockRunner::runOnHost(const BlockPlan &plan, const Segment &segment,
                            std::span<const int64_t> symbols, std::vector<Value> &values,
                            HostContext &context) {
  for (int node : segment.nodes)
    runNode(plan, {node, -1, false, {}}, symbols, values, context);
  settings.code->noteHostRun(plan.dag, segment);
}

/// Returns the seconds that it took.
double BlockRunner::runNode(const BlockPlan &plan, const PlanStep &step,
                            std::span<const int64_t> symbols, std::vector<Value> &values,
                            HostContext &context) {
  const Node &node = plan.dag.nodes[step.node];
  bool mayOverwrite = false;
  std::vector<Value> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    int input = node.inputs[i];
    if (input < 0) {
      operands.emplace_back();
      continue;
    }
    const Node &operand = plan.dag.nodes[input];
    if (operand.op == Op::Literal) {
      operands.push_back(Value::of(operand.literal));
      continue;
    }
    bool dies = std::ranges::find(step.lastUses, input) != step.lastUses.end() &&
                std::ranges::find(node.inputs.begin() + i + 1, node.inputs.end(), input) ==
                    node.inputs.end();
    operands.push_back(dies ? std::move(values[input]) : values[input]);
    mayOverwrite |= dies;
  }
  Stopwatch watch;
  values[step.node] = evaluate(node, symbols, std::move(operands), context);
  if (mayOverwrite)
    values[step.node].renewVersion();
  double seconds = watch.seconds();
  Statistics::Operator &times = statistics.operators[operationName(node)];
  ++times.calls;
  times.seconds += seconds;
  return seconds;
}

/// The value as the segment's input; a column may have rank 1.
static Tensor toTensor(const Value &value, const TensorSpec &spec) {
  if (value.matrix()) {
    Tensor dense = denseOf(*value.matrix());
    return spec.dims.size() == 1 ? dense.reshaped({dense.elements()}) : dense;
  }
  Tensor scalar = Tensor::allocate(DType::F64, {});
  *scalar.as<double>() = value.number("a compiled block");
  return scalar;
}

static Value fromTensor(const Node &node, const Tensor &tensor) {
  if (node.isMatrix())
    return tensor.shape().size() == 1 ? tensor.reshaped({tensor.elements(), 1}) : tensor;
  double number = *tensor.as<double>();
  if (node.known.type.value == ValueType::Boolean)
    return number != 0;
  if (node.known.type.value == ValueType::Integer)
    return static_cast<int64_t>(number);
  return number;
}

static double bytesOf(const Node &node, std::span<const int64_t> symbols) {
  if (!node.isMatrix())
    return sizeof(double);
  return static_cast<double>(node.known.rows.evaluate(symbols)) *
         static_cast<double>(node.known.cols.evaluate(symbols)) * sizeof(double);
}

/// Names the operation of a compiled block whose result does not fit into memory; of what the block
/// needs besides, the one with the largest result.
[[noreturn]] static void failForMemory(const Dag &dag, const Segment &segment,
                                       std::span<const int64_t> symbols, const OutOfMemory &error) {
  auto bytes = [&](int node) { return bytesOf(dag.nodes[node], symbols); };
  auto needed = static_cast<double>(error.bytes());
  auto at = std::ranges::find(segment.nodes, needed, bytes);
  bool found = at != segment.nodes.end();
  const Node &node = dag.nodes[found ? *at : *std::ranges::max_element(segment.nodes, {}, bytes)];
  std::string need = error.need();
  if (found && node.isMatrix())
    need =
        error
            .withPurpose("", "a dense matrix of " +
                                 sizesText(static_cast<double>(node.known.rows.evaluate(symbols)),
                                           static_cast<double>(node.known.cols.evaluate(symbols))))
            .need();
  fail(node.place, operationName(node) + ": " + need, error.kind());
}

/// "svm.dml"
static std::string fileOf(const Node &node) {
  return std::filesystem::path(node.place.source->name()).filename().string();
}

void BlockRunner::runSegment(BlockPlan &plan, const PlanStep &step,
                             std::span<const int64_t> symbols, std::vector<Value> &values) {
  try {
    runCode(plan.segments[step.segment], plan.dag, symbols, values);
  } catch (const OutOfMemory &error) {
    failForMemory(plan.dag, plan.segments[step.segment].segment, symbols, error);
  }
}

void BlockRunner::runCode(BlockPlan::Compiled &compiled, const Dag &dag,
                          std::span<const int64_t> symbols, std::vector<Value> &values) {
  const Segment &segment = compiled.segment;
  std::vector<Tensor> inputs;
  inputs.reserve(segment.inputs.size() + segment.hiddenSymbols.size());
  for (int input : segment.inputs)
    inputs.push_back(toTensor(values[input], compiled.code->inputs()[inputs.size()]));
  for (int symbol : segment.hiddenSymbols)
    inputs.push_back(newMatrix(symbols[symbol], 0));
  Stopwatch finding;
  std::shared_ptr<const Executable> executable = compiled.code->executable(inputs);
  if (compiled.executable != executable) {
    compiled.executable = executable;
    statistics.compileSeconds += finding.seconds();
    compileNanoseconds = (compileNanoseconds + 1e9 * finding.seconds()) / 2;
  }
  std::vector<double> microseconds;
  Stopwatch running;
  std::vector<Tensor> outputs = executable->run(inputs, ThreadPool::global(), &microseconds);
  compiled.code->addCall(inputs, 1e6 * running.seconds());
  const auto &steps = executable->program().steps;
  std::string file = fileOf(dag.nodes[segment.nodes.front()]) + " ";
  for (size_t i = 0; i < steps.size() && i < microseconds.size(); ++i) {
    Statistics::Operator &times = statistics.operators[file + kernelName(steps[i].operators)];
    ++times.calls;
    times.seconds += microseconds[i] * 1e-6;
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    values[segment.outputs[i]] = fromTensor(dag.nodes[segment.outputs[i]], outputs[i]);
}

} // namespace headrace::script
