#include "script/plan/PlanText.h"

#include <algorithm>
#include <cstdio>

namespace headrace::script {

std::string kernelName(const std::vector<std::string> &operators) {
  std::string name;
  for (const std::string &op : operators)
    name += (name.empty() ? "" : " ") + op;
  return name;
}

static std::string symbolsText(std::span<const int64_t> symbols) {
  std::string text;
  for (size_t i = 0; i < symbols.size(); ++i)
    text += (i ? ", " : "") + ("s" + std::to_string(i)) + " = " + std::to_string(symbols[i]);
  return text.empty() ? "" : " (" + text + ")";
}

std::string graphText(const BlockPlan &plan, const BasicBlock &block, size_t first,
                      std::span<const int64_t> symbols) {
  SourceLocation place = block.statements[first]->place;
  return "block at " + place.text() + ", " + std::to_string(plan.dag.statements) + " statements" +
         symbolsText(symbols) + "\n" + print(plan.dag, "  ");
}

std::string hostText(const BlockPlan &plan, const BasicBlock &block, size_t first,
                     std::span<const int64_t> symbols) {
  char time[64];
  std::snprintf(time, sizeof time, "%.1f us", plan.hostNanoseconds * 1e-3);
  std::string text = "block at " + block.statements[first]->place.text() + symbolsText(symbols) +
                     ": on the host, about " + time + " a run of what could be compiled\n ";
  for (const PlanStep &step : plan.steps)
    text += " " + operationName(plan.dag.nodes[step.node]);
  return text + "\n";
}

static std::string bytesText(int64_t bytes) {
  char text[32];
  if (bytes < 10'000)
    std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes));
  else if (bytes < 10'000'000)
    std::snprintf(text, sizeof text, "%.1f kB", static_cast<double>(bytes) * 1e-3);
  else
    std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) * 1e-6);
  return text;
}

static std::string segmentText(const Dag &dag, BlockPlan::Compiled &compiled,
                               std::span<const int64_t> symbols, bool withPlanning) {
  if (!compiled.code)
    return "  host " + segmentName(dag, compiled.segment) + ": no code for it\n";
  Explanation explanation = compiled.code->explain();
  std::vector<int64_t> values;
  values.reserve(explanation.symbols.size());
  for (const std::string &name : explanation.symbols)
    values.push_back(symbols[std::stoi(name.substr(1))]);
  auto bytes = [&](const DimExpr &size) { return bytesText(size.evaluate(values)); };
  std::string text = "  compiled " + segmentName(dag, compiled.segment) + ": " +
                     std::to_string(explanation.after.kernels) + " kernels for " +
                     std::to_string(compiled.segment.nodes.size()) + " operators, moves " +
                     bytes(explanation.after.bytesMoved) + " instead of " +
                     bytes(explanation.before.bytesMoved) + "\n";
  for (const KernelReport &kernel : explanation.kernels)
    text += "    " + kernel.kind + ": " + kernelName(kernel.operators) + "; reads " +
            bytes(kernel.cost.bytesRead) + ", writes " + bytes(kernel.cost.bytesWritten) + "\n";
  if (!withPlanning)
    return text;
  text += "    " +
          (explanation.planning.empty() ? "fusion: there is one plan" : explanation.planning) +
          "\n";
  for (const MissedOptimization &why : explanation.missedOptimizations)
    text += "    missed: " + why.step + ", because " + why.reason + "\n";
  return text;
}

std::string runtimeText(BlockPlan &plan, std::span<const int64_t> symbols, bool withPlanning) {
  std::string text = "plan" + symbolsText(symbols) + "\n";
  for (const PlanStep &step : plan.steps) {
    if (step.segment >= 0)
      text += segmentText(plan.dag, plan.segments[step.segment], symbols, withPlanning);
    else if (plan.dag.nodes[step.node].op != Op::SizeValue)
      text += "  host " + operationName(plan.dag.nodes[step.node]) + "\n";
  }
  return text;
}

} // namespace headrace::script
