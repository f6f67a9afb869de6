#include "runtime/program/SideBySide.h"

#include <algorithm>

namespace headrace {

namespace {

/// Whether a step from `begin` on may write the buffer.
bool isWrittenSince(const BufferInfo &buffer, size_t begin) {
  return buffer.kind == BufferInfo::Kind::Output ||
         (buffer.kind == BufferInfo::Kind::Temporary &&
          static_cast<size_t>(buffer.firstStep) >= begin);
}

/// Whether the step uses what one of those from `begin` up to it writes, or the other way round.
bool dependsOnThose(const Program &program, size_t begin, size_t step) {
  for (int id : program.steps[step].operands) {
    if (!isWrittenSince(program.buffers[static_cast<size_t>(id)], begin))
      continue;
    for (size_t before = begin; before < step; ++before)
      if (std::ranges::count(program.steps[before].operands, id) > 0)
        return true;
  }
  return false;
}

} // namespace

bool findSideBySide(const Program &program, std::span<const double> work,
                    std::vector<Binding::StepFacts> &steps) {
  auto isAlone = [&](size_t i) {
    const Step &step = program.steps[i];
    return step.kind == Step::Kind::Kernel && step.engine == hostEngine && steps[i].grid > 0 &&
           steps[i].grain >= steps[i].grid && work[i] >= worthSharing;
  };
  bool any = false;
  for (size_t begin = 0, end; begin < steps.size(); begin = end) {
    end = begin + 1;
    while (isAlone(begin) && end < steps.size() && isAlone(end) &&
           !dependsOnThose(program, begin, end))
      ++end;
    steps[begin].together = end - begin;
    any |= end > begin + 1;
  }
  return any;
}

} // namespace headrace
