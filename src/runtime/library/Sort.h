// The order of elements along lines of a tensor: the library routines "sort.f32", "sort.f64",
// "sort.i32" and "sort.i64".
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"

#include <span>
#include <string>

namespace headrace {

/// A tensor [outer, size, inner] whose lines along the middle dimension are sorted.
struct Sort {
  int64_t outer, size, inner;
  int64_t taken; // how many of the first positions are requested
  bool descending;
  int64_t lines = 0; // that a thread takes at once, at least; 0: by their size
};
inline constexpr int64_t maxLinesAtOnce = 1 << 20;

/// The positions [outer, taken, inner] of the first elements in order. Equal elements keep theirs;
/// NaN is greater than any number.
template <class T>
void sortLines(const Sort &sort, const T *values, int64_t *positions, ThreadPool &pool);

/// The routines behind steps: operands values and positions; parameters are the members of Sort,
/// of which the last may be left out.
template <class T>
void runSortStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                 ThreadPool &pool);
template <class T>
std::string sortStepFault(std::span<const int64_t> parameters,
                          std::span<const int64_t> operandBytes);

} // namespace headrace
