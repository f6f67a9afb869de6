#include "runtime/vta/MicroCode.h"

#include <algorithm>

namespace headrace::vta {

namespace {

using Ops = std::span<const MicroOp>;

// Differences are modulo 2^32; a step back is a huge one.
MicroOp difference(const MicroOp &a, const MicroOp &b) {
  return {a.dst - b.dst, a.src - b.src, a.wgt - b.wgt};
}

MicroOp sum(const MicroOp &a, const MicroOp &b) {
  return {a.dst + b.dst, a.src + b.src, a.wgt + b.wgt};
}

bool stepsBack(const MicroOp &step) {
  constexpr uint32_t half = uint32_t{1} << 31;
  return step.dst >= half || step.src >= half || step.wgt >= half;
}

/// Whether `count` blocks of `length` follow each other, each the one before moved by `step`.
bool repeats(Ops ops, size_t length, size_t count, MicroOp &step) {
  step = count > 1 ? difference(ops[length], ops[0]) : MicroOp{};
  if (stepsBack(step))
    return false;
  for (size_t i = length; i < length * count; ++i)
    if (ops[i] != sum(ops[i - length], step))
      return false;
  return true;
}

/// Both loops around a body of this length, if they make all of the micro-ops.
bool loopsAround(Ops ops, size_t length, int64_t iterations, Sweep &sweep) {
  size_t blocks = ops.size() / length;
  for (size_t inner = blocks; inner >= 1; --inner) {
    if (blocks % inner != 0 || inner > static_cast<size_t>(iterations) ||
        blocks / inner > static_cast<size_t>(iterations))
      continue;
    MicroOp in, out;
    if (!repeats(ops, length, inner, in) || !repeats(ops, length * inner, blocks / inner, out))
      continue;
    sweep = {{ops.begin(), ops.begin() + static_cast<ptrdiff_t>(length)},
             static_cast<int64_t>(blocks / inner),
             static_cast<int64_t>(inner),
             out,
             in};
    return true;
  }
  return false;
}

} // namespace

std::vector<Sweep> chop(Ops ops, const SweepLimits &limits) {
  std::vector<Sweep> sweeps;
  for (size_t begin = 0; begin < ops.size(); begin += limits.body) {
    Ops piece = ops.subspan(begin, std::min(limits.body, ops.size() - begin));
    sweeps.push_back({{piece.begin(), piece.end()}, 1, 1, {}, {}});
  }
  return sweeps;
}

std::vector<Sweep> compress(Ops ops, const SweepLimits &limits) {
  Sweep sweep;
  for (size_t length = 1; length <= std::min(ops.size(), limits.body); ++length)
    if (ops.size() % length == 0 && loopsAround(ops, length, limits.iterations, sweep))
      return {sweep};
  std::vector<Sweep> sweeps;
  for (size_t begin = 0; begin < ops.size(); begin += limits.body) {
    Ops piece = ops.subspan(begin, std::min(limits.body, ops.size() - begin));
    std::vector<Sweep> parts = compress(piece, limits);
    sweeps.insert(sweeps.end(), parts.begin(), parts.end());
  }
  return sweeps;
}

} // namespace headrace::vta
