#include "runtime/program/Slices.h"

#include "runtime/program/MemoryPlan.h"
#include "runtime/system/AlignedMemory.h"

#include <algorithm>
#include <map>

namespace headrace {

namespace {

class RunFinder {
public:
  RunFinder(const Program &program, std::span<const int64_t> grids,
            std::span<const int64_t> symbols)
      : program(program), grids(grids), symbols(symbols) {}

  std::vector<std::unique_ptr<SlicedRun>> find() const {
    std::vector<std::unique_ptr<SlicedRun>> runs;
    for (size_t first = 0; first < program.steps.size();) {
      int64_t slices = slicesOf(program.steps[first]);
      size_t end = first;
      while (end < program.steps.size() && canFollow(first, end, slices))
        ++end;
      if (end - first > 1)
        runs.push_back(makeRun(first, end, slices));
      first = std::max(end, first + 1);
    }
    return runs;
  }

private:
  const BufferInfo &bufferOf(int id) const { return program.buffers[static_cast<size_t>(id)]; }

  /// The number of slices that the step is to run in; 0 if it runs as a whole.
  int64_t slicesOf(const Step &step) const {
    bool isSliced =
        step.kind == Step::Kind::Kernel && step.engine == hostEngine && !step.parameters.empty();
    return isSliced ? step.parameters[0].evaluate(symbols) : 0;
  }

  bool cuts(const Step &step, size_t position) const {
    return std::any_of(step.parameters.begin() + 1, step.parameters.end(), [&](const DimExpr &cut) {
      return cut.evaluate(symbols) == static_cast<int64_t>(position);
    });
  }

  /// Whether the step can run slice by slice with those from `first` on before it.
  bool canFollow(size_t first, size_t index, int64_t slices) const {
    const Step &step = program.steps[index];
    if (slices < 2 || slicesOf(step) != slices || grids[index] == 0 || grids[index] % slices != 0)
      return false;
    for (size_t position = 0; position < step.operands.size(); ++position) {
      const BufferInfo &buffer = bufferOf(step.operands[position]);
      bool isSliced = cuts(step, position);
      if (isSliced && buffer.bytes.evaluate(symbols) % slices != 0)
        return false;
      bool isWritten = buffer.kind == BufferInfo::Kind::Output ||
                       (buffer.kind == BufferInfo::Kind::Temporary &&
                        static_cast<size_t>(buffer.firstStep) >= first);
      if (!isSliced && isWritten)
        return false;
    }
    return true;
  }

  std::unique_ptr<SlicedRun> makeRun(size_t first, size_t end, int64_t slices) const {
    auto run = std::make_unique<SlicedRun>();
    run->first = first;
    run->slices = slices;
    run->operands.resize(end - first);
    std::map<int, size_t> inside; // buffers with memory of a slice, and their lifetimes
    std::vector<Lifetime> lifetimes;
    for (size_t i = first; i < end; ++i)
      for (int id : program.steps[i].operands) {
        const BufferInfo &buffer = bufferOf(id);
        int64_t bytes = buffer.bytes.evaluate(symbols) / slices;
        run->operands[i - first].push_back({id, -1, bytes});
        if (run->isInside(buffer) && inside.try_emplace(id, lifetimes.size()).second)
          lifetimes.push_back({bytes, buffer.firstStep, buffer.lastStep});
      }
    MemoryPlan plan = planMemory(lifetimes);
    run->arenaBytes = alignUp(plan.totalBytes);
    for (std::vector<SlicedRun::Operand> &operands : run->operands)
      for (SlicedRun::Operand &operand : operands)
        if (auto found = inside.find(operand.buffer); found != inside.end())
          operand.offset = plan.offsets[found->second];
    return run;
  }

  const Program &program;
  std::span<const int64_t> grids, symbols;
};

} // namespace

std::vector<std::unique_ptr<SlicedRun>> findSlicedRuns(const Program &program,
                                                       std::span<const int64_t> grids,
                                                       std::span<const int64_t> symbols) {
  return RunFinder(program, grids, symbols).find();
}

} // namespace headrace
