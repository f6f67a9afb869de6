#include "target/vta/schedule/write/Loops.h"

#include <algorithm>
#include <tuple>

namespace headrace::vta {

namespace {

MicroOp stepOf(const Loop &loop) {
  return {static_cast<uint32_t>(loop.dst), static_cast<uint32_t>(loop.src),
          static_cast<uint32_t>(loop.wgt)};
}

bool continues(const Loop &outer, const Loop &inner) {
  return outer.dst == inner.dst * inner.size && outer.src == inner.src * inner.size &&
         outer.wgt == inner.wgt * inner.size;
}

/// The most iterations of one loop of an instruction.
constexpr int64_t maxIterations = (1 << 14) - 1;

// Makes one loop of two if the steps allow it.
void mergeLoops(std::vector<Loop> &loops) {
  for (size_t a = 0; a < loops.size(); ++a)
    for (size_t b = 0; b < loops.size(); ++b)
      if (a != b && continues(loops[a], loops[b]) &&
          loops[a].size * loops[b].size <= maxIterations) {
        loops[b].size *= loops[a].size;
        loops.erase(loops.begin() + static_cast<ptrdiff_t>(a));
        return mergeLoops(loops);
      }
}

void writeOut(std::span<const Loop> loops, const MicroOp &at, std::vector<MicroOp> &body) {
  if (loops.empty()) {
    body.push_back(at);
    return;
  }
  MicroOp next = at, step = stepOf(loops.front());
  for (int64_t i = 0; i < loops.front().size; ++i) {
    writeOut(loops.subspan(1), next, body);
    next = {next.dst + step.dst, next.src + step.src, next.wgt + step.wgt};
  }
}

} // namespace

Sweep sweepOf(std::vector<Loop> loops, const Loop &base) {
  std::erase_if(loops, [](const Loop &loop) { return loop.size == 1; });
  mergeLoops(loops);
  std::ranges::sort(loops, std::greater<>(), [](const Loop &loop) {
    return std::tuple(loop.size, loop.dst, loop.src, loop.wgt);
  });
  Sweep sweep;
  if (!loops.empty()) {
    sweep.iterIn = loops[0].size;
    sweep.factorIn = stepOf(loops[0]);
  }
  if (loops.size() > 1) {
    sweep.iterOut = loops[1].size;
    sweep.factorOut = stepOf(loops[1]);
  }
  std::span<const Loop> rest(loops);
  writeOut(rest.subspan(std::min<size_t>(2, loops.size())), stepOf(base), sweep.body);
  return sweep;
}

std::vector<BoxDimension> merged(const std::vector<BoxDimension> &box) {
  std::vector<BoxDimension> result;
  for (size_t d = box.size(); d-- > 0;) {
    bool isLast = d + 1 == box.size();
    if (!isLast && box[d].size == 1)
      continue;
    if (!result.empty() && box[d].step == result.front().size * result.front().step)
      result.front().size *= box[d].size;
    else
      result.insert(result.begin(), box[d]);
  }
  return result;
}

} // namespace headrace::vta
