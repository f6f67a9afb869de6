// Loops over memories: as one instruction of micro-ops, and as transfers of rectangles.
#pragma once

#include "runtime/vta/CommandStream.h"

namespace headrace::vta {

/// A loop of an instruction, with how far each operand moves in a step.
struct Loop {
  int64_t size;
  int64_t dst = 0, src = 0, wgt = 0;
};

/// All loops over a micro-op that begins at `base`: the two largest are the instruction's, the
/// others are written out. In whatever order: operations must not depend on it.
Sweep sweepOf(std::vector<Loop> loops, const Loop &base);

/// A dimension of a box in DRAM, outermost first; on the chip it lies without gaps.
struct BoxDimension {
  int64_t size, step;
};

/// Calls transfer(first element in the box's memory, columns, rows, stride, place on the chip) for
/// as few rectangles as make the box. The last dimension has a step of 1.
template <class Transfer>
void forEachRectangle(std::vector<BoxDimension> box, int64_t first, int64_t place,
                      Transfer transfer);

/// The box with neighbouring dimensions made one if the outer continues the inner.
std::vector<BoxDimension> merged(const std::vector<BoxDimension> &box);

template <class Transfer>
void forEachRectangle(std::vector<BoxDimension> box, int64_t first, int64_t place,
                      Transfer transfer) {
  constexpr int64_t largestStride = 65535;
  if (box.size() == 2 && box[0].step <= largestStride) {
    transfer(first, box[1].size, box[0].size, box[0].step, place);
    return;
  }
  if (box.size() == 1) {
    transfer(first, box[0].size, 1, box[0].size, place);
    return;
  }
  BoxDimension outer = box.front();
  box.erase(box.begin());
  int64_t elements = 1;
  for (const BoxDimension &dimension : box)
    elements *= dimension.size;
  for (int64_t i = 0; i < outer.size; ++i)
    forEachRectangle(box, first + i * outer.step, place + i * elements, transfer);
}

} // namespace headrace::vta
