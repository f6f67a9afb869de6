// Attention by OpenBLAS, a block of scores at a time: the library routines "openblas.attention" and
// "openblas.biased_attention".
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"

#include <array>
#include <span>
#include <string>

namespace headrace {

/// result = softmax(scale query key^T + bias) value, for every head of every batch, in f32. Rows of
/// queries, keys, values and results are contiguous; everything else lies where the strides say, in
/// elements.
struct Attention {
  int64_t batch, heads, queries, keys, depth, width;
  int64_t causal;     // query i sees keys up to i
  int64_t zeroMasked; // a query that sees nothing gets 0, not NaN
  double scale;
  struct Rows {
    int64_t batch, head, row;
  };
  Rows query, key, value;
  struct Cells {
    int64_t batch, head, row, column; // 0: the same for all
  };
  Cells bias; // all 0 if there is none
  Rows result;
  int64_t queryBlock = 0, keyBlock = 0; // of scores that are computed at once; 0: as is usual

  static constexpr size_t parameters = 25, blockParameters = 2;
};

/// Needs openBlas(). Scores never leave the caches; results do not depend on the number of threads.
void attend(const Attention &attention, const float *query, const float *key, const float *value,
            const float *bias, float *result, ThreadPool &pool);

/// The routine behind steps: operands query, key, value, the bias if any, result; parameters are
/// the members of Attention in order, the scale as its bits; blocks may be left out.
void runAttentionStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                      ThreadPool &pool);
/// The fault in its sizes for operands of that many bytes; empty for a sound step.
std::string attentionStepFault(std::span<const int64_t> parameters,
                               std::span<const int64_t> operandBytes);
/// Why scores cannot be computed in such blocks; empty if they can.
std::string refusalOfBlocks(const Attention &attention);

} // namespace headrace
