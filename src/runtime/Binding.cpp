#include "runtime/Binding.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cmath>

namespace headrace {

namespace {

// Bytes moved and operations done in about the time it takes to share a loop with spinning
// workers.
constexpr double worthSharing = 20'000;

double workOf(const Step &step, std::span<const int64_t> symbols) {
  double work = 0;
  for (const DimExpr *part : {&step.cost.bytesRead, &step.cost.bytesWritten, &step.cost.operations})
    work += static_cast<double>(part->evaluate(symbols));
  return work;
}

int64_t gridOf(const Step &step, KernelFn kernel, std::span<const int64_t> symbols) {
  std::vector<void *> noBuffers(step.operands.size(), nullptr);
  int64_t grid = kernel(noBuffers.data(), symbols.data(), 0, 0, nullptr);
  if (grid < 0)
    throw InternalError("kernel '" + step.symbol + "' has a grid of " + std::to_string(grid));
  return grid;
}

int64_t grainOf(int64_t grid, double work) {
  if (work < worthSharing)
    return grid;
  return static_cast<int64_t>(std::ceil(static_cast<double>(grid) * (worthSharing / work)));
}

// A buffer must not claim more than the tensor behind it has.
void checkBytes(const Program &program, size_t id, int64_t available,
                std::span<const int64_t> symbols) {
  int64_t claimed = program.buffers[id].bytes.evaluate(symbols);
  if (claimed > available)
    throw InternalError("program '" + program.name + "': buffer " + std::to_string(id) +
                        " claims " + std::to_string(claimed) + " of " + std::to_string(available) +
                        " bytes");
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

void checkBuffers(const Program &program, const Binding &binding) {
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const BufferInfo &buffer = program.buffers[id];
    auto index = static_cast<size_t>(buffer.index);
    if (buffer.kind == BufferInfo::Kind::Input) {
      const TensorSpec &spec = program.inputs[index];
      checkBytes(program, id, bytesOf(spec.dtype, evaluate(spec, binding.symbols)),
                 binding.symbols);
    } else if (buffer.kind == BufferInfo::Kind::Output) {
      checkBytes(program, id, bytesOf(program.outputs[index].dtype, binding.outputShapes[index]),
                 binding.symbols);
    } else if (buffer.kind == BufferInfo::Kind::Constant) {
      checkBytes(program, id, static_cast<int64_t>(program.constants[index].bytes()),
                 binding.symbols);
    }
  }
}

} // namespace

MemoryPlan planTemporaries(const Program &program, std::span<const int64_t> symbols) {
  std::vector<size_t> ids;
  std::vector<Lifetime> lifetimes;
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const BufferInfo &buffer = program.buffers[id];
    if (buffer.kind != BufferInfo::Kind::Temporary)
      continue;
    ids.push_back(id);
    lifetimes.push_back({buffer.bytes.evaluate(symbols), buffer.firstStep, buffer.lastStep});
  }
  for (size_t i = 0; i < program.steps.size(); ++i) {
    ids.push_back(program.buffers.size() + i);
    int now = static_cast<int>(i);
    lifetimes.push_back({program.steps[i].deviceWorkspaceBytes.evaluate(symbols), now, now});
  }
  MemoryPlan plan = planMemory(lifetimes);
  std::vector<int64_t> byBuffer(program.buffers.size() + program.steps.size(), -1);
  for (size_t i = 0; i < ids.size(); ++i)
    byBuffer[ids[i]] = plan.offsets[i];
  plan.offsets = std::move(byBuffer);
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
  Binding binding;
  binding.symbols.assign(symbols.begin(), symbols.end());
  for (const TensorSpec &output : program.outputs)
    binding.outputShapes.push_back(evaluate(output, symbols));
  binding.plan = planTemporaries(program, symbols);
  checkBuffers(program, binding);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    Binding::StepFacts &facts = binding.steps.emplace_back();
    for (const DimExpr &parameter : program.steps[i].parameters)
      facts.parameters.push_back(parameter.evaluate(symbols));
    facts.workspace = binding.plan.offsets[program.buffers.size() + i];
  }
  return binding;
}

Binding makeHostBinding(const Program &program, std::span<const KernelFn> kernels,
                        std::span<const int64_t> symbols) {
  Binding binding = makeBinding(program, symbols);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step &step = program.steps[i];
    if (step.kind != Step::Kind::Kernel)
      continue;
    Binding::StepFacts &facts = binding.steps[i];
    facts.grid = gridOf(step, kernels[i], symbols);
    facts.grain = grainOf(facts.grid, workOf(step, symbols));
  }
  return binding;
}

} // namespace headrace
