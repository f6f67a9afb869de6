// Steps that run depth first: all of them on one slice of their operands (an image, a few rows),
// while it is in cache, then all of them on the next.
//
//   step:    conv1            conv2            conv1            conv2
//   slices:  0 1 2 3          0 1 2 3    ->    0                0          1      1   ...
//
// Buffers that only these steps use hold one slice for each thread, at the same place for every
// slice.
//
// A kernel's step that can run so has parameters: the number of slices, and the positions of the
// operands that are cut. Part k of its grid reads and writes part k of these, of as many equal
// parts as there are slices, and reads all other operands as a whole.
#pragma once

#include "runtime/program/Program.h"

#include <memory>
#include <span>

namespace headrace {

/// Adjacent steps that run depth first.
struct SlicedRun {
  struct Operand {
    int buffer = 0;
    int64_t offset = -1; // in the memory of a slice; -1: it has memory for all slices
    int64_t bytes = 0;   // of one slice
  };
  size_t first = 0;
  int64_t slices = 0;
  int64_t arenaBytes = 0;                     // memory of one slice
  std::vector<std::vector<Operand>> operands; // by step

  size_t steps() const { return operands.size(); }
  /// Whether only these steps use the buffer, so that it has memory of one slice.
  bool isInside(const BufferInfo &buffer) const {
    return buffer.kind == BufferInfo::Kind::Temporary &&
           static_cast<size_t>(buffer.firstStep) >= first &&
           static_cast<size_t>(buffer.lastStep) < first + steps();
  }
};

/// The runs of a program, as the parameters of its steps ask for them and the grids of their
/// kernels allow: a grid must consist of as many equal parts, and no step may need more than its
/// own slice of what another one in the run writes. `grids` has that of every step, 0 where it has
/// none.
std::vector<std::unique_ptr<SlicedRun>> findSlicedRuns(const Program &program,
                                                       std::span<const int64_t> grids,
                                                       std::span<const int64_t> symbols);

} // namespace headrace
