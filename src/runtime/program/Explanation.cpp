#include "runtime/program/Explanation.h"

#include "runtime/program/Binding.h"
#include "runtime/system/Error.h"

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
        step.name,  step.operators, note.kind,           note.schedule, note.recipe,
        note.notes, step.cost,      step.workspaceBytes, step.engine,   note.unsupportedReason,
        note.prediction};
    // All that a kernel keeps in memory between its operators is a worker's workspace.
    if (step.kind == Step::Kind::Kernel)
      report.cost.intermediateBytes = DimExpr::constant(step.workspaceBytes);
    result.kernels.push_back(std::move(report));
  }
  for (const Tensor &constant : program.constants)
    result.constantBytes += static_cast<int64_t>(constant.bytes());
  if (program.symbols.empty())
    result.peakBytes = planTemporaries(program, {}).totalBytes + outputBytes(program, {});
  return result;
}

} // namespace headrace
