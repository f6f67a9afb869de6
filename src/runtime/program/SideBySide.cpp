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

/// How the steps from one on are put together.
struct Groups {
  double saved = 0, waiting = 0; // work
  size_t end = 0;                // of the first group

  bool isBetterThan(const Groups &other) const {
    return saved > other.saved || (saved == other.saved && waiting < other.waiting);
  }
};

} // namespace

bool findSideBySide(const Program &program, std::span<const double> work,
                    std::vector<Binding::StepFacts> &steps) {
  auto isAlone = [&](size_t i) {
    const Step &step = program.steps[i];
    return step.kind == Step::Kind::Kernel && step.engine == hostEngine && steps[i].grid > 0 &&
           !steps[i].isSliced && steps[i].grain >= steps[i].grid && work[i] >= worthSharing;
  };
  // From the last step on: the groups that save most, and of these the ones whose threads wait
  // least. A direction of a layer is not put next to the other one's inputs, which must come first.
  std::vector<Groups> best(steps.size() + 1);
  for (size_t begin = steps.size(); begin-- > 0;) {
    double total = work[begin], most = work[begin];
    best[begin] = best[begin + 1];
    best[begin].end = begin + 1;
    for (size_t last = begin + 1; isAlone(begin) && last < steps.size() && isAlone(last) &&
                                  !dependsOnThose(program, begin, last);
         ++last) {
      total += work[last];
      most = std::max(most, work[last]);
      auto count = static_cast<double>(last + 1 - begin);
      Groups together{best[last + 1].saved + total - most,
                      best[last + 1].waiting + most * count - total, last + 1};
      if (together.isBetterThan(best[begin]))
        best[begin] = together;
    }
  }
  bool any = false;
  for (size_t begin = 0; begin < steps.size(); begin = best[begin].end) {
    steps[begin].together = best[begin].end - begin;
    any |= steps[begin].together > 1;
  }
  return any;
}

} // namespace headrace
