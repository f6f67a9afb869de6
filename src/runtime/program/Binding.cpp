#include "runtime/program/Binding.h"

#include "runtime/program/Library.h"
#include "runtime/program/SideBySide.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>

namespace headrace {

namespace {

double workOf(const Step &step, std::span<const int64_t> symbols) {
  double work = 0;
  for (const DimExpr *part : {&step.cost.bytesRead, &step.cost.bytesWritten, &step.cost.operations})
    work += static_cast<double>(part->evaluate(symbols));
  return work;
}

int64_t gridOf(const Program &program, const Step &step, KernelFn kernel,
               std::span<const int64_t> symbols) {
  std::vector<void *> noBuffers(step.operands.size(), nullptr);
  int64_t grid = kernel(noBuffers.data(), symbols.data(), 0, 0, nullptr);
  if (grid < 0)
    failUnsound(program, "kernel '" + step.symbol + "' has a grid of " + std::to_string(grid));
  return grid;
}

int64_t grainOf(int64_t grid, double work) {
  if (work < worthSharing)
    return grid;
  return static_cast<int64_t>(std::ceil(static_cast<double>(grid) * (worthSharing / work)));
}

int64_t bytesOf(DType dtype, const Shape &shape) {
  return static_cast<int64_t>(Tensor::borrow(dtype, shape, nullptr, nullptr).bytes());
}

Shape evaluate(const TensorSpec &spec, std::span<const int64_t> symbols) {
  Shape shape;
  for (const DimExpr &dim : spec.dims)
    shape.push_back(dim.evaluate(symbols));
  return shape;
}

/// The bytes of a buffer; one that stands for a tensor must not claim more than that has.
int64_t checkedBytes(const Program &program, size_t id, std::span<const int64_t> symbols) {
  const BufferInfo &buffer = program.buffers[id];
  auto index = static_cast<size_t>(buffer.index);
  int64_t claimed = buffer.bytes.evaluate(symbols), available = INT64_MAX;
  auto bytesOfSpec = [&](const TensorSpec &spec) {
    return bytesOf(spec.dtype, evaluate(spec, symbols));
  };
  if (buffer.kind == BufferInfo::Kind::Input)
    available = bytesOfSpec(program.inputs[index]);
  else if (buffer.kind == BufferInfo::Kind::Output)
    available = bytesOfSpec(program.outputs[index]);
  else if (buffer.kind == BufferInfo::Kind::Constant)
    available = static_cast<int64_t>(program.constants[index].bytes());
  if (claimed < 0 || claimed > available)
    failUnsound(program, "buffer " + std::to_string(id) + " claims " + std::to_string(claimed) +
                             " of " + std::to_string(available) + " bytes");
  return claimed;
}

void checkLibraryStep(const Program &program, const Step &step, const Binding::StepFacts &facts,
                      std::span<const int64_t> bufferBytes) {
  std::vector<int64_t> operandBytes;
  for (int id : step.operands)
    operandBytes.push_back(bufferBytes[static_cast<size_t>(id)]);
  if (std::string fault = libraryFault(step, facts.parameters, operandBytes); !fault.empty())
    failUnsound(program, "step '" + step.name + "' " + fault);
}

Binding boundProgram(const Program &program, std::span<const int64_t> symbols) {
  Binding binding;
  binding.symbols.assign(symbols.begin(), symbols.end());
  for (const TensorSpec &output : program.outputs)
    binding.outputShapes.push_back(evaluate(output, symbols));
  binding.plan = planTemporaries(program, symbols);
  std::vector<int64_t> bufferBytes;
  for (size_t id = 0; id < program.buffers.size(); ++id)
    bufferBytes.push_back(checkedBytes(program, id, symbols));
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    Binding::StepFacts &facts = binding.steps.emplace_back();
    for (const DimExpr &parameter : step.parameters)
      facts.parameters.push_back(parameter.evaluate(symbols));
    facts.workspace = binding.plan.offsets[program.buffers.size() + i];
    if (step.kind == Step::Kind::Library)
      checkLibraryStep(program, step, facts, bufferBytes);
    if (step.kind == Step::Kind::Transfer)
      for (int id : step.operands)
        if (facts.parameters[0] < 0 || facts.parameters[0] > bufferBytes[static_cast<size_t>(id)])
          failUnsound(program, "step '" + step.name + "' copies " +
                                   std::to_string(facts.parameters[0]) + " bytes of a buffer of " +
                                   std::to_string(bufferBytes[static_cast<size_t>(id)]));
  }
  return binding;
}

} // namespace

MemoryPlan planTemporaries(const Program &program, std::span<const int64_t> symbols,
                           std::span<const Binding::StepFacts> steps) {
  // Of those that run at the same time, or slice by slice, the first and the last.
  std::vector<int> begins(program.steps.size()), ends(program.steps.size());
  std::vector<bool> isInside(program.buffers.size()); // has memory of a slice, elsewhere
  for (size_t i = 0; i < program.steps.size();) {
    size_t count = steps.empty() ? 1 : steps[i].together;
    if (const SlicedRun *run = steps.empty() ? nullptr : steps[i].run) {
      count = run->steps();
      for (size_t id = 0; id < program.buffers.size(); ++id)
        isInside[id] = isInside[id] || run->isInside(program.buffers[id]);
    }
    std::fill_n(begins.begin() + static_cast<int64_t>(i), count, static_cast<int>(i));
    std::fill_n(ends.begin() + static_cast<int64_t>(i), count, static_cast<int>(i + count - 1));
    i += count;
  }
  struct Arena {
    std::vector<size_t> ids;
    std::vector<Lifetime> lifetimes;
  };
  std::map<std::string, Arena, std::less<>> arenas;
  auto add = [&](const std::string &engine, size_t id, const Lifetime &lifetime) {
    Arena &arena = arenas[engine];
    arena.ids.push_back(id);
    arena.lifetimes.push_back(lifetime);
  };
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const BufferInfo &buffer = program.buffers[id];
    if (buffer.kind != BufferInfo::Kind::Temporary || isInside[id])
      continue;
    int first = begins[static_cast<size_t>(buffer.firstStep)];
    int last = ends[static_cast<size_t>(buffer.lastStep)];
    add(buffer.engine, id, {checkedBytes(program, id, symbols), first, last});
  }
  for (size_t i = 0; i < program.steps.size(); ++i) {
    int now = static_cast<int>(i);
    int64_t workspace = program.steps[i].deviceWorkspaceBytes.evaluate(symbols);
    if (workspace < 0)
      failUnsound(program, "step '" + program.steps[i].name + "' has a negative workspace");
    add(program.steps[i].engine, program.buffers.size() + i, {workspace, now, now});
  }
  MemoryPlan plan;
  plan.offsets.assign(program.buffers.size() + program.steps.size(), -1);
  for (const auto &[engine, arena] : arenas) {
    MemoryPlan own = planMemory(arena.lifetimes);
    for (size_t i = 0; i < arena.ids.size(); ++i)
      plan.offsets[arena.ids[i]] = own.offsets[i];
    plan.arenas[engine] = own.totalBytes;
    plan.totalBytes += own.totalBytes; // less than the other sum
    if (__builtin_add_overflow(plan.unsharedBytes, own.unsharedBytes, &plan.unsharedBytes))
      throw Error(ErrorKind::InvalidArgument,
                  "the intermediate results of these input sizes exceed 2^63 bytes");
  }
  return plan;
}

int64_t outputBytes(const Program &program, std::span<const int64_t> symbols) {
  int64_t total = 0;
  for (const TensorSpec &output : program.outputs)
    if (__builtin_add_overflow(total, bytesOf(output.dtype, evaluate(output, symbols)), &total))
      throw Error(ErrorKind::InvalidArgument, "the outputs of these input sizes exceed 2^63 bytes");
  return total;
}

Binding makeBinding(const Program &program, std::span<const int64_t> symbols) {
  try {
    return boundProgram(program, symbols);
  } catch (const Error &error) { // a size that overflows, or is divided by zero
    std::string what = error.what();
    if (program.origin.empty() || what.starts_with(program.origin))
      throw;
    throw Error(error.kind(), program.origin + ": program '" + program.name + "': " + what);
  }
}

Binding makeHostBinding(const Program &program, std::span<const KernelFn> kernels,
                        std::span<const int64_t> symbols) {
  Binding binding = makeBinding(program, symbols);
  std::vector<double> work(program.steps.size());
  std::vector<int64_t> grids(program.steps.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    if (step.kind != Step::Kind::Kernel || step.engine != hostEngine)
      continue;
    Binding::StepFacts &facts = binding.steps[i];
    work[i] = workOf(step, symbols);
    facts.grid = gridOf(program, step, kernels[i], symbols);
    facts.grain = grainOf(facts.grid, work[i]);
    grids[i] = facts.grid;
  }
  binding.runs = findSlicedRuns(program, grids, symbols);
  for (const std::unique_ptr<SlicedRun> &run : binding.runs) {
    binding.steps[run->first].run = run.get();
    for (size_t i = 0; i < run->steps(); ++i)
      binding.steps[run->first + i].isSliced = true;
  }
  if (!findSideBySide(program, work, binding.steps) && binding.runs.empty())
    return binding;
  binding.plan = planTemporaries(program, symbols, binding.steps);
  for (size_t i = 0; i < program.steps.size(); ++i)
    binding.steps[i].workspace = binding.plan.offsets[program.buffers.size() + i];
  return binding;
}

} // namespace headrace
