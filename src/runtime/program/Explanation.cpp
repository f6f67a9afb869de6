#include "runtime/program/Explanation.h"

#include "runtime/program/Binding.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace {

namespace {

MovementReport movementOf(const Program &program) {
  MovementReport report;
  report.kernels = static_cast<int64_t>(program.steps.size());
  for (const Step &step : program.steps) {
    report.bytesMoved = report.bytesMoved + step.cost.bytesRead + step.cost.bytesWritten;
    report.operations = report.operations + step.cost.operations;
  }
  for (const BufferInfo &buffer : program.buffers)
    if (buffer.kind == BufferInfo::Kind::Temporary)
      report.intermediateBytes = report.intermediateBytes + buffer.bytes;
  return report;
}

/// Every buffer but constants, from the first to the last step that uses it.
std::vector<BufferReport> buffersOf(const Program &program) {
  int steps = static_cast<int>(program.steps.size());
  std::vector<int> first(program.buffers.size(), steps), last(program.buffers.size(), -1);
  for (int s = 0; s < steps; ++s)
    for (int operand : program.steps[static_cast<size_t>(s)].operands) {
      first[static_cast<size_t>(operand)] = std::min(first[static_cast<size_t>(operand)], s);
      last[static_cast<size_t>(operand)] = s;
    }
  bool areSizesKnown = program.symbols.empty();
  MemoryPlan plan = areSizesKnown ? planTemporaries(program, {}) : MemoryPlan();
  std::vector<BufferReport> reports;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const BufferInfo &buffer = program.buffers[b];
    if (buffer.kind == BufferInfo::Kind::Constant || last[b] < 0)
      continue;
    BufferReport report{buffer.kind, "", buffer.engine, buffer.bytes, first[b], last[b], {}};
    auto index = static_cast<size_t>(buffer.index);
    bool isTemporary = buffer.kind == BufferInfo::Kind::Temporary;
    if (isTemporary && areSizesKnown)
      report.offset = plan.offsets[b];
    report.name = isTemporary ? program.steps[static_cast<size_t>(first[b])].name
                  : buffer.kind == BufferInfo::Kind::Input ? program.inputs[index].name
                                                           : program.outputs[index].name;
    reports.push_back(std::move(report));
  }
  return reports;
}

} // namespace

Explanation explainProgram(const Program &program, const ProgramNotes &notes) {
  if (notes.steps.size() != program.steps.size())
    throw InternalError("program '" + program.name + "' has remarks on other steps");
  Explanation result;
  result.name = program.name;
  for (const Symbol &symbol : program.symbols)
    result.symbols.push_back(symbol.name);
  result.before = notes.before;
  result.recipe = notes.recipe;
  result.missedOptimizations = notes.missedOptimizations;
  result.planning = notes.planning;
  result.rates = notes.rates;
  result.after = movementOf(program);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    const ProgramNotes::StepNote &note = notes.steps[i];
    KernelReport report{
        step.name,       step.operators, note.kind,           note.schedule, note.recipe,
        note.notes,      step.cost,      step.workspaceBytes, step.engine,   note.unsupportedReason,
        note.prediction, note.source};
    // All that a kernel keeps in memory between its operators is a worker's workspace.
    if (step.kind == Step::Kind::Kernel)
      report.cost.intermediateBytes = DimExpr::constant(step.workspaceBytes);
    result.kernels.push_back(std::move(report));
  }
  result.buffers = buffersOf(program);
  for (const Tensor &constant : program.constants)
    result.constantBytes += static_cast<int64_t>(constant.bytes());
  if (program.symbols.empty())
    result.peakBytes = planTemporaries(program, {}).totalBytes + outputBytes(program, {});
  return result;
}

} // namespace headrace
