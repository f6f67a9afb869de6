#include "runtime/program/Executable.h"

#include "runtime/program/BindInputs.h"
#include "runtime/program/Binding.h"
#include "runtime/program/Engine.h"

namespace headrace {

/// An engine that can runs what is its alone; the host drives all others.
static std::unique_ptr<ProgramRunner> makeRunner(Program program, ProgramCode code) {
  if (std::optional<std::string> sole = soleEngine(program))
    if (const Engine &engine = findEngine(*sole); engine.runsAlone())
      return engine.makeRunner(std::move(program), std::move(code));
  return makeHostRunner(std::move(program), std::move(code));
}

Executable::Executable(Program program, ProgramCode code)
    : runner(makeRunner(std::move(program), std::move(code))) {}
Executable::~Executable() = default;
Executable::Executable(Executable &&) noexcept = default;
Executable &Executable::operator=(Executable &&) noexcept = default;

const Program &Executable::program() const { return runner->program; }
MemorySpace Executable::place() const { return runner->place(); }

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs, ThreadPool &pool,
                                    std::vector<double> *stepMicroseconds) const {
  std::vector<Tensor> outputs(runner->program.outputs.size());
  runner->run(inputs, outputs, pool, stepMicroseconds);
  return outputs;
}

void Executable::runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                         ThreadPool &pool) const {
  runner->run(inputs, outputs, pool, nullptr);
}

void Executable::enqueue(std::span<const Tensor> inputs, std::span<Tensor> outputs, void *stream,
                         const CallAllocator *allocator) const {
  runner->enqueue(inputs, outputs, stream, allocator);
}

void Executable::raiseDataErrors() const { runner->raiseDataErrors(); }

std::vector<std::string> Executable::stepNotes() const { return runner->stepNotes(); }

std::optional<std::vector<int64_t>> Executable::bind(std::span<const Tensor> inputs) const {
  std::vector<int64_t> symbols;
  if (!bindInputs(runner->program, inputs, symbols))
    return std::nullopt;
  return symbols;
}

MemoryPlan Executable::memoryPlan(std::span<const int64_t> symbols) const {
  return planTemporaries(runner->program, symbols);
}

int64_t Executable::peakBytes(std::span<const int64_t> symbols) const {
  return memoryPlan(symbols).totalBytes + outputBytes(runner->program, symbols);
}

} // namespace headrace
